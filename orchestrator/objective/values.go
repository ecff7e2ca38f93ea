package objective

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/synthesis"
	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// Wanted are the names of the terms whose values a request wants of each molecule.
type Wanted []string

// UnmarshalJSON decodes a list of at most maxTerms names of built-in terms without parameters. Its error is a
// *wire.Mismatch.
func (w *Wanted) UnmarshalJSON(data []byte) error {
	*w = nil
	if bytes.Equal(bytes.TrimSpace(data), []byte("null")) {
		return nil
	}
	items, count, err := firstItems(data, maxTerms)
	if err != nil {
		return wire.NotList.At()
	}
	if count > maxTerms {
		return mismatch("Value error, there should be at most %d scores, not %d", maxTerms, count)
	}
	for i, item := range items {
		var name string
		if err := json.Unmarshal(item, &name); err != nil {
			return wire.NotString.At(i)
		}
		if !slices.Contains(plainNames(), name) {
			return under(mismatch("Value error, a score is one of %v, not %q", plainNames(), fault.Clip(name)), i)
		}
		if slices.Contains(*w, name) {
			return under(mismatch("Value error, the score %q is twice in the list", name), i)
		}
		*w = append(*w, name)
	}
	return nil
}

// Values are the values of terms of a molecule. Its JSON is an object, in the order of the request.
type Values []Value

// Value is the value of a term of a molecule. It is null in JSON if it is NaN.
type Value struct {
	Name  string
	Value float64
}

// MarshalJSON encodes an object.
func (v Values) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, value := range v {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(value.Name)
		if err != nil {
			return nil, err
		}
		out = append(append(out, name...), ':')
		number := []byte("null")
		if !math.IsNaN(value.Value) && !math.IsInf(value.Value, 0) {
			if number, err = json.Marshal(value.Value); err != nil {
				return nil, err
			}
		}
		out = append(out, number...)
	}
	return append(out, '}'), nil
}

// Valuer computes the values of terms.
type Valuer struct {
	*Objective // its members are the terms
	names      Wanted
}

// Open validates names: see [Spec.Open]. It returns nil if there are no names.
func (w Wanted) Open(seen *chem.Sample, routes *synthesis.Search) (*Valuer, error) {
	if len(w) == 0 {
		return nil, nil
	}
	terms := groupSpec{Combine: weightedSum}
	for _, name := range w {
		terms.Terms = append(terms.Terms, termSpec{Name: name, Weight: 1})
	}
	opened, err := (&opener{seen: seen, routes: routes, isList: true}).open(&terms, nil)
	if err != nil {
		return nil, err
	}
	return &Valuer{opened, w}, nil
}

// Facts returns the facts that Values needs. A nil Valuer needs none.
func (v *Valuer) Facts() chem.Facts {
	if v == nil {
		return chem.NoFacts
	}
	return v.Objective.Facts()
}

// Values returns the values of each molecule, nil of a nil Valuer.
func (v *Valuer) Values(ctx context.Context, molecules []*chem.Molecule) ([]Values, error) {
	all := make([]Values, len(molecules))
	if v == nil || len(molecules) == 0 {
		return all, nil
	}
	rows, err := v.inputs(ctx, molecules)
	if err != nil {
		return nil, failureOf(err)
	}
	for i := range rows {
		for k, name := range v.names {
			all[i] = append(all[i], Value{name, v.root.members[k].value(&rows[i])})
		}
	}
	return all, nil
}

// Alerts returns the names of the alerts of a molecule that a wanted value counts.
func (v *Valuer) Alerts(m *chem.Molecule) []string {
	if v == nil || !slices.Contains(v.names, "PAINS") && !slices.Contains(v.names, "Brenk") {
		return nil
	}
	names, err := m.Alerts()
	if err != nil {
		return nil // the value is null
	}
	return slices.DeleteFunc(names, func(name string) bool {
		catalog, _, _ := strings.Cut(name, " ")
		return !slices.Contains(v.names, catalog)
	})
}

// Route returns the shortest route to a molecule if the number of its steps is a wanted value. It returns nil if it is
// not wanted or no route is found.
func (v *Valuer) Route(m *chem.Molecule) *synthesis.Route {
	if v == nil || v.routes == nil {
		return nil
	}
	return v.routes.Route(m, synthesis.MaxSteps)
}

// failureOf returns the error of inputs as callers know it.
func failureOf(err error) error {
	if failure, ok := errors.AsType[*oracleFailure](err); ok {
		return failure.Failure
	}
	return err
}
