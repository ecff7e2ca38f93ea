package objective

import (
	"bytes"
	"context"
	"math"
	"slices"
	"sync"

	"retort/chem"
	"retort/chem/synthesis"
	"retort/orchestrator/wire"
)

// Filters are the filters of a request: terms with bounds that the results must be within.
//
//	[{"name": "SA", "max": 4}, {"name": "PAINS", "max": 0}, {"name": "novelty", "min": 0.3}]
type Filters []termSpec

// UnmarshalJSON decodes a list of terms that have min, max or both. Its error is a *wire.Mismatch.
func (f *Filters) UnmarshalJSON(data []byte) error {
	*f = nil
	data = bytes.TrimSpace(data)
	if bytes.Equal(data, []byte("null")) || bytes.Equal(data, []byte("[]")) {
		return nil
	}
	if len(data) == 0 || data[0] != '[' {
		return wire.NotList.At()
	}
	r := reader{remaining: maxTerms}
	var terms groupSpec
	if err := r.terms(&terms, data, 1); err != nil {
		return err
	}
	for i, t := range terms.Terms {
		switch {
		case len(t.Terms) > 0:
			return under(mismatch("Value error, a filter is a term, not a group"), i)
		case t.Min == nil && t.Max == nil:
			return under(mismatch("Value error, a filter needs a bound: min, max or both"), i)
		case t.Weight != 1:
			return under(mismatch("Value error, a filter has no weight"), i)
		}
	}
	*f = terms.Terms
	return nil
}

// Filter tells whether molecules are within the bounds of Filters, and counts those that are not. It is safe for
// concurrent use.
type Filter struct {
	*Objective // its members are the terms of the filters
	bounds     []bounds

	mu      sync.Mutex
	leftOut LeftOut
}

// bounds are the bounds of a term; either may be nil.
type bounds struct{ min, max *float64 }

// excess returns how far a value is out of bounds, 0 if it is within. NaN is infinitely far out.
func (b bounds) excess(value float64) float64 {
	excess := 0.0
	if b.min != nil {
		excess = max(excess, *b.min-value)
	}
	if b.max != nil {
		excess = max(excess, value-*b.max)
	}
	if math.IsNaN(excess) {
		return math.Inf(1)
	}
	return excess
}

// LeftOut says how many molecules filters have left out of an answer.
type LeftOut struct {
	Molecules int             `json:"molecules"` // that failed a filter
	Filters   []FilterFailure `json:"filters"`   // in the order of the request
}

// FilterFailure says how many molecules failed a filter. A molecule that fails several filters counts for each.
type FilterFailure struct {
	Name      string `json:"name"` // of its term
	Molecules int    `json:"molecules"`
}

// Open validates filters: see [Spec.Open]. It returns nil if there are no filters.
func (f Filters) Open(oracles []Oracle, seen *chem.Sample, routes *synthesis.Search) (*Filter, error) {
	if len(f) == 0 {
		return nil, nil
	}
	filter := &Filter{leftOut: LeftOut{Filters: make([]FilterFailure, len(f))}}
	terms := groupSpec{Combine: weightedSum, Terms: slices.Clone(f)}
	for i := range terms.Terms {
		t := &terms.Terms[i]
		filter.bounds = append(filter.bounds, bounds{t.Min, t.Max})
		filter.leftOut.Filters[i].Name = t.Name
		t.Min, t.Max = nil, nil // which would be a modifier
	}
	o := &opener{known: oracles, seen: seen, routes: routes, isList: true}
	var err error
	filter.Objective, err = o.open(&terms, nil)
	if err != nil {
		return nil, err
	}
	return filter, nil
}

// Facts returns the facts that Excess needs. A nil filter needs none.
func (f *Filter) Facts() chem.Facts {
	if f == nil {
		return chem.NoFacts
	}
	return f.Objective.Facts()
}

// Excess returns for each molecule how far it is out of bounds: the sum, over the filters, of the distance to the
// nearest bound in units of the term. It is 0 for a molecule that passes all filters, and infinite for one without a
// value. Each call counts the molecules that fail, so a molecule should be passed once. The error is as that of Score.
func (f *Filter) Excess(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
	excess := make([]float64, len(molecules))
	if f == nil || len(molecules) == 0 {
		return excess, nil
	}
	rows, err := f.inputs(ctx, molecules)
	if err != nil {
		return nil, failureOf(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range rows {
		for k := range f.bounds {
			m := &f.root.members[k]
			if distance := f.bounds[k].excess(m.value(&rows[i])); distance > 0 {
				excess[i] += distance / m.unit
				f.leftOut.Filters[k].Molecules++
			}
		}
		if excess[i] > 0 {
			f.leftOut.Molecules++
		}
	}
	return excess, nil
}

// LeftOut returns the counts so far, or nil for a nil filter.
func (f *Filter) LeftOut() *LeftOut {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := f.leftOut
	counts.Filters = slices.Clone(counts.Filters)
	return &counts
}
