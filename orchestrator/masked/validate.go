package masked

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

// Bounds of the members. Those of the published API are its own; rounds and
// attempts bound the work of one request.
const (
	mostMolecules = 1000
	mostRounds    = 50
	mostAttempts  = 10
)

// UnmarshalJSON decodes a body and checks its bounds in one pass, so that the
// answer names what has the wrong type and what is out of range together.
func (r *Request) UnmarshalJSON(body []byte) error {
	type members Request // the same, without this method
	var problems []*fault.Error
	if f := fault.As(gateway.Bind(body, (*members)(r))); f != nil {
		problems = f.All()
	}
	for _, f := range r.bounds() {
		seen := func(p *fault.Error) bool { return p.Field() == f.Field() }
		if f != nil && !slices.ContainsFunc(problems, seen) {
			problems = append(problems, f)
		}
	}
	if len(problems) == 0 {
		return nil
	}
	texts := make([]string, len(problems))
	for i, f := range problems {
		texts[i] = worded(f)
	}
	return errors.New(strings.Join(texts, "; "))
}

func (r *Request) bounds() []*fault.Error {
	return []*fault.Error{
		fault.Between(int64(r.NumMolecules), 1, mostMolecules, "num_molecules"),
		fault.Between(float64(r.Temperature), 0.01, 10, "temperature"),
		fault.Between(float64(r.Noise), 0, 2, "noise"),
		fault.Between(int64(r.StepSize), 1, 10, "step_size"),
		fault.Between(float64(r.Gamma), 0, 1, "gamma"),
		fault.Between(int64(r.MinAddLen), 1, 128, "min_add_len"),
		fault.Between(int64(r.Rounds), 0, mostRounds, "rounds"),
		fault.Between(int64(r.Attempts), 1, mostAttempts, "attempts"),
	}
}

// worded is one problem: the member, what is wrong with it, what came.
func worded(f *fault.Error) string {
	text := f.Message
	if field := f.Field(); field != "" {
		text = field + ": " + text
	}
	if f.Input == nil || f.Rule == "value_error" {
		return text // a template's problem quotes what it is about
	}
	input, err := json.Marshal(f.Input)
	if err != nil {
		return text
	}
	return fmt.Sprintf("%s, got %s", text, input)
}
