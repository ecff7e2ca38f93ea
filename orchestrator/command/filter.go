package command

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// scoreFlags are the options of commands that generate molecules: what these must be like, and what to show of them.
type scoreFlags struct {
	Filter []string `sep:"none" env:"-" placeholder:"BOUND" help:"Return only molecules within a bound, such as 'SA<=4', 'PAINS<=0' or 'novelty>=0.3'; or filters in JSON. Can be repeated."`
	Scores []string `env:"-" placeholder:"NAME,…" help:"Columns to show: SA, PAINS, Brenk, novelty (the distance to what the model was trained on), QED, LogP, synthesis_steps (with the route), …."`
}

var bound = regexp.MustCompile(`^\s*([A-Za-z]\w*)\s*([<>]=)\s*([-+.\w]+)\s*$`)

// filters returns the filters of a request.
func (f *scoreFlags) filters() ([]any, error) {
	filters := []any{}
	for _, text := range f.Filter {
		if strings.HasPrefix(strings.TrimSpace(text), "{") {
			if !json.Valid([]byte(text)) {
				return nil, fmt.Errorf("--filter: %s is not JSON", text)
			}
			filters = append(filters, json.RawMessage(text))
			continue
		}
		parts := bound.FindStringSubmatch(text)
		if parts == nil {
			return nil, fmt.Errorf("--filter: %q is not a bound such as SA<=4 or novelty>=0.3", text)
		}
		number, err := strconv.ParseFloat(parts[3], 64)
		if err != nil {
			return nil, fmt.Errorf("--filter: %q is not a number", parts[3])
		}
		side := map[string]string{"<=": "max", ">=": "min"}[parts[2]]
		filters = append(filters, map[string]any{"name": parts[1], side: number})
	}
	return filters, nil
}

// fields returns the columns of the scores of a molecule. With the number of steps of its synthesis comes the route.
func (f *scoreFlags) fields(values map[string]any, synthesis *route) []field {
	var fields []field
	for _, name := range f.Scores {
		fields = append(fields, field{strings.ToLower(name), values[name]})
		if name == "synthesis_steps" {
			fields = append(fields, field{"route", synthesis.String()})
		}
	}
	return fields
}

// route is the synthesis of a molecule. A nil route is that of a molecule for which none is found.
type route struct {
	Steps []struct {
		Reaction   string   `json:"reaction"`
		Precursors []string `json:"precursors"`
		Product    string   `json:"product"`
	} `json:"steps"`
}

// String returns each step as reaction SMILES with the name of the reaction.
func (r *route) String() string {
	if r == nil {
		return ""
	}
	var steps []string
	for _, s := range r.Steps {
		steps = append(steps, fmt.Sprintf("%s>>%s (%s)", strings.Join(s.Precursors, "."), s.Product, s.Reaction))
	}
	return strings.Join(steps, "; ")
}

// leftOut is what an answer says about molecules that failed filters.
type leftOut struct {
	Molecules int `json:"molecules"`
	Filters   []struct {
		Name      string `json:"name"`
		Molecules int    `json:"molecules"`
	} `json:"filters"`
}

// report reports the molecules that were left out of the answer to a row.
func (l *leftOut) report(p *Process, line int) {
	if l == nil || l.Molecules == 0 {
		return
	}
	var reasons []string
	for _, f := range l.Filters {
		reasons = append(reasons, fmt.Sprintf("%s %d", f.Name, f.Molecules))
	}
	p.report("line %d: filters left out %d molecules (%s)", line, l.Molecules, strings.Join(reasons, ", "))
}
