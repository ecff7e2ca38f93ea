package objective

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"retort/orchestrator/wire"
)

// Spec is the objective of a request: one term, a list of terms whose weighted values are added, or a group.
type Spec struct {
	groupSpec
	wrapped bool   // the request has a group, so the paths of its terms start with "terms"
	text    []byte // JSON
}

// groupSpec combines terms to one value.
type groupSpec struct {
	Combine combination `json:"combine"`
	Terms   []termSpec  `json:"terms"`
}

// combination says how the weighted terms of a group are combined. The means divide by the sum of the weights.
type combination string

const (
	weightedSum    combination = "sum" // Σ weight · value
	arithmeticMean combination = "arithmetic_mean"
	// geometricMean is the product of value^weight, to the power of 1 / Σ weight. It is 0 if a value is 0 or less.
	geometricMean combination = "geometric_mean"
)

var combinations = []combination{weightedSum, arithmeticMean, geometricMean}

// termSpec is a term with its weight and its modifier, or, with Terms, a nested group.
type termSpec struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"` // default 1

	// Parameters. terms.go says which names have which parameters.
	SMILES      references `json:"smiles"`
	Fingerprint string     `json:"fingerprint"`
	SMARTS      string     `json:"smarts"`
	Formula     string     `json:"formula"`
	Element     string     `json:"element"`
	Output      string     `json:"output"` // of an oracle with several outputs
	Unit        float64    `json:"unit"`   // of an oracle, instead of its own; 0: its own
	Not         bool       `json:"not"`    // negates a term that is 1 or 0

	// Min and Max are a window of desired values: 1 within, 1 / (1 + distance / unit) outside.
	Min      *float64  `json:"min"`
	Max      *float64  `json:"max"`
	Modifier *modifier `json:"modifier"`

	groupSpec
}

// The bounds of an objective.
const (
	maxTerms = 16 // per group
	maxAll   = 64 // in all groups together
	maxDepth = 3  // levels of groups
)

// One returns the objective of one term without parameters.
func One(name string) Spec {
	return Spec{
		groupSpec: groupSpec{Combine: weightedSum, Terms: []termSpec{{Name: name, Weight: 1}}},
		text:      []byte(strconv.Quote(name)),
	}
}

// MarshalJSON returns the text that UnmarshalJSON decoded, or the name of the term of One.
func (s Spec) MarshalJSON() ([]byte, error) { return s.text, nil }

// UnmarshalJSON decodes a name, a term, a list of terms or a group. Its error is a *wire.Mismatch.
func (s *Spec) UnmarshalJSON(data []byte) error {
	*s = Spec{groupSpec: groupSpec{Combine: weightedSum}, text: bytes.Clone(data)}
	r := reader{remaining: maxAll}
	data = bytes.TrimSpace(data)
	if len(data) > 0 && data[0] == '[' {
		return r.terms(&s.groupSpec, data, 1)
	}
	t, err := r.term(data, 1)
	if err != nil {
		return err
	}
	if len(t.Terms) > 0 && t.Weight == 1 && t.Modifier == nil && t.Min == nil && t.Max == nil {
		s.groupSpec = t.groupSpec
		s.wrapped = true
		return nil
	}
	s.Terms = []termSpec{t}
	return nil
}

// reader decodes the terms of one objective.
type reader struct{ remaining int } // number of terms that may follow

// terms decodes an array of terms into a group.
func (r *reader) terms(into *groupSpec, data []byte, depth int) error {
	items, count, err := firstItems(data, maxTerms)
	if err != nil {
		return wire.NotList.At()
	}
	if count == 0 || count > maxTerms {
		return mismatch("Value error, there should be 1 to %d terms, not %d", maxTerms, count)
	}
	for i, item := range items {
		t, err := r.term(item, depth)
		if err != nil {
			return under(err, i)
		}
		into.Terms = append(into.Terms, t)
	}
	return nil
}

// references are the SMILES of the reference molecules of a term: one, or a list of at most maxReferences.
type references []string

// maxReferences is the number of references of a median. Other terms have fewer.
const maxReferences = 2

// UnmarshalJSON refuses a longer list before it is stored.
func (r *references) UnmarshalJSON(data []byte) error {
	if data := bytes.TrimSpace(data); len(data) > 0 && data[0] == '[' {
		if _, count, err := firstItems(data, 0); err == nil && count > maxReferences {
			return mismatch("Value error, smiles should have at most %d molecules, not %d", maxReferences, count)
		}
	}
	return (*wire.Strings)(r).UnmarshalJSON(data)
}

// firstItems returns up to limit items of a JSON array and the number of all items, so that an array of millions takes
// no memory.
func firstItems(array []byte, limit int) (items []json.RawMessage, count int, err error) {
	decoder := json.NewDecoder(bytes.NewReader(array))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('[') {
		return nil, 0, errors.New("not an array")
	}
	for ; decoder.More(); count++ {
		var item json.RawMessage
		if err := decoder.Decode(&item); err != nil {
			return nil, count, err
		}
		if count < limit {
			items = append(items, item)
		}
	}
	return items, count, nil
}

// term decodes one term.
func (r *reader) term(data []byte, depth int) (termSpec, error) {
	t := termSpec{Weight: 1}
	if r.remaining--; r.remaining < 0 {
		return t, mismatch("Value error, an objective has at most %d terms", maxAll)
	}
	switch {
	case len(data) > 0 && data[0] == '"':
		if err := json.Unmarshal(data, &t.Name); err != nil {
			return t, wire.NotString.At()
		}
		return t, nil
	case len(data) == 0 || data[0] != '{':
		return t, wire.NotString.At()
	}
	// The terms of a group are decoded one by one, each with its own default weight.
	var parts struct {
		*plainTerm
		Terms json.RawMessage `json:"terms"`
	}
	parts.plainTerm = (*plainTerm)(&t)
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&parts); err != nil {
		return t, termMismatch(err)
	}
	if parts.Terms != nil {
		if depth == maxDepth {
			return t, mismatch("Value error, at most %d groups may be within each other", maxDepth)
		}
		if err := r.terms(&t.groupSpec, bytes.TrimSpace(parts.Terms), depth+1); err != nil {
			return t, under(err, "terms")
		}
	}
	return t, t.check()
}

// termMismatch returns an error of encoding/json about a term without Go's names.
func termMismatch(err error) *wire.Mismatch {
	if m, ok := errors.AsType[*wire.Mismatch](err); ok {
		return under(m, "smiles")
	}
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return mismatch("Value error, a term has a name or terms, and may have weight, min, max, modifier and "+
			"what it is about: %v", err)
	}
	var path []any
	for _, name := range strings.Split(strings.TrimPrefix(wrong.Field, "plainTerm."), ".") {
		path = append(path, name)
	}
	switch wrong.Type.Kind() {
	case reflect.String:
		return wire.NotString.At(path...)
	case reflect.Float64:
		return wire.NotNumber.At(path...)
	case reflect.Int:
		return wire.NotInteger.At(path...)
	case reflect.Bool:
		return wire.NotBoolean.At(path...)
	}
	return wire.NotObject.At(path...)
}

// plainTerm is a termSpec without methods.
type plainTerm termSpec

// under prepends a step to the path of a *wire.Mismatch.
func under(err error, step any) *wire.Mismatch {
	m := *err.(*wire.Mismatch)
	m.Path = append([]any{step}, m.Path...)
	return &m
}

func mismatch(format string, args ...any) *wire.Mismatch {
	return &wire.Mismatch{Rule: "value_error", Message: fmt.Sprintf(format, args...)}
}
