package objective

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"retort/chem"
	"retort/orchestrator/fault"
)

// opening makes an objective of a spec.
type opening struct {
	known    []Oracle // those that there are
	measures []chem.Measure
	users    [][]any // where the term of each measure stands in the spec
	here     []any   // where the term stands that is being opened
	oracles  []*asked
}

// asked is an oracle of an objective.
type asked struct {
	Oracle
	path []any // of the first term that it is
}

// Open checks a spec against the terms that there are: the built-in ones and the oracles. The error is Invalid; its path
// leads from the spec to the term.
func (s *Spec) Open(oracles []Oracle) (*Objective, error) {
	o := &opening{known: oracles}
	var path []any
	if s.wrapped {
		path = []any{"terms"}
	}
	root, err := o.group(&s.Group, path)
	if err != nil {
		return nil, err
	}
	panel, err := chem.NewPanel(o.measures...)
	var measure *chem.MeasureError
	if errors.As(err, &measure) {
		m := o.measures[measure.Index]
		return nil, fault.Field("value_error", fault.Clip(m.About), o.users[measure.Index], "Value error, the term %q: %v",
			s.at(o.users[measure.Index]).Name, measure.Err)
	}
	if err != nil {
		return nil, err
	}
	if unit := root.unit(); !(unit > 0) || math.IsInf(unit, 0) {
		return nil, fault.Field("value_error", nil, nil, "Value error, the weights are too large")
	}
	return &Objective{root: *root, panel: panel, measured: len(o.measures) > 0, oracles: o.oracles}, nil
}

// group opens the terms of a group.
func (o *opening) group(g *Group, path []any) (*group, error) {
	opened := &group{combine: g.Combine}
	for i := range g.Terms {
		t := &g.Terms[i]
		o.here = append(slices.Clone(path), i)
		if len(g.Terms) == 1 && len(path) == 0 {
			o.here = nil // a single term may stand without a list
		}
		member, err := o.term(t, o.here)
		if err != nil {
			return nil, err
		}
		opened.members = append(opened.members, *member)
	}
	return opened, nil
}

func (o *opening) term(t *Term, path []any) (*member, error) {
	m := &member{weight: t.Weight, modifier: t.modifier()}
	if len(t.Terms) > 0 {
		inner, err := o.group(&t.Group, append(slices.Clone(path), "terms"))
		if err != nil {
			return nil, err
		}
		m.term = term{inner.unit(), inner.facts(), inner.value}
		return m, nil
	}
	found, err := o.builtIn(t)
	if found == nil && err == nil {
		found, err = o.oracle(t)
	}
	if err != nil {
		return nil, fault.Field("value_error", fault.Clip(t.Name), path, "Value error, the term %q: %v", fault.Clip(t.Name), err)
	}
	if found == nil {
		names := Names()
		for _, oracle := range o.known {
			names = append(names, oracle.Name())
		}
		return nil, fault.OneOf(fault.Clip(t.Name), names, path...)
	}
	m.term = *found
	return m, nil
}

// modifier is the modifier of a term: its own, or the window of min and max; nil for none.
func (t *Term) modifier() *Modifier {
	if t.Modifier == nil && (t.Min != nil || t.Max != nil) {
		return &Modifier{Type: "window", Min: t.Min, Max: t.Max}
	}
	return t.Modifier
}

// oracle makes the term of an oracle; nil where none has that name.
func (o *opening) oracle(t *Term) (*term, error) {
	for _, oracle := range o.known {
		if oracle.Name() != t.Name {
			continue
		}
		output := 0
		if t.Output != "" {
			if output = slices.Index(oracle.Outputs(), t.Output); output < 0 {
				return nil, fmt.Errorf("output is one of %v, not %q", oracle.Outputs(), fault.Clip(t.Output))
			}
		}
		at := slices.IndexFunc(o.oracles, func(a *asked) bool { return a.Name() == t.Name })
		if at < 0 {
			at = len(o.oracles)
			o.oracles = append(o.oracles, &asked{oracle, o.here})
		}
		return &term{oracle.Unit(), oracle.Facts(), func(r *row) float64 { return r.outputs[at][output] }}, t.has("output")
	}
	return nil, nil
}

// measure is the place of a measure in the panel, where equal ones share one.
func (o *opening) measure(kind chem.MeasureKind, about string) int {
	m := chem.Measure{Kind: kind, About: about}
	if at := slices.Index(o.measures, m); at >= 0 {
		return at
	}
	o.measures = append(o.measures, m)
	o.users = append(o.users, o.here)
	return len(o.measures) - 1
}

// at is the term at a path that Open gave.
func (s *Spec) at(path []any) *Term {
	terms := s.Terms
	t := &terms[0]
	for k, step := range path {
		if i, ok := step.(int); ok {
			t = &terms[i]
			continue
		}
		if k > 0 || !s.wrapped {
			terms = t.Terms
		}
	}
	return t
}
