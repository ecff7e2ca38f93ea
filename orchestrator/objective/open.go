package objective

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"retort/chem"
	"retort/chem/synthesis"
	"retort/orchestrator/fault"
)

// opener opens the terms of a spec.
type opener struct {
	known      []Oracle          // that a term may name
	seen       *chem.Sample      // of the model's training molecules; nil if there is none
	usesSeen   bool              // whether a term is novelty
	routes     *synthesis.Search // nil if no routes are searched
	usesRoutes bool              // whether a term is synthesis_steps
	isList     bool              // the request has a list of terms, also if there is one
	measures   []chem.Measure
	users      []position // per measure, the first term that uses it
	current    position
	oracles    []*usedOracle
}

// position is the place of a term in a spec.
type position struct {
	name string // of the term
	path []any
}

// usedOracle is an oracle of an objective.
type usedOracle struct {
	Oracle
	path []any // of the first term that uses it
}

// Open validates a spec against the built-in terms and the oracles. seen is a sample of the molecules that the model
// was trained on, and routes finds syntheses; either may be nil. The error is a fault.Invalid with the path of the
// term.
func (s *Spec) Open(oracles []Oracle, seen *chem.Sample, routes *synthesis.Search) (*Objective, error) {
	var path []any
	if s.wrapped {
		path = []any{"terms"}
	}
	return (&opener{known: oracles, seen: seen, routes: routes}).open(&s.groupSpec, path)
}

// open opens the root of an objective.
func (o *opener) open(g *groupSpec, path []any) (*Objective, error) {
	root, err := o.group(g, path)
	if err != nil {
		return nil, err
	}
	panel, err := chem.NewPanel(o.measures...)
	var measure *chem.MeasureError
	if errors.As(err, &measure) {
		user := o.users[measure.Index]
		return nil, fault.Field("value_error", fault.Clip(o.measures[measure.Index].About), user.path,
			"Value error, the term %q: %v", user.name, measure.Err)
	}
	if err != nil {
		return nil, err
	}
	if unit := root.unit(); !(unit > 0) || math.IsInf(unit, 0) {
		return nil, fault.Field("value_error", nil, nil, "Value error, the weights are too large")
	}
	opened := &Objective{root: *root, panel: panel, measured: len(o.measures) > 0, oracles: o.oracles}
	if o.usesSeen {
		opened.seen = o.seen
	}
	if o.usesRoutes {
		opened.routes = o.routes
	}
	return opened, nil
}

// group opens the terms of a group.
func (o *opener) group(g *groupSpec, path []any) (*group, error) {
	opened := &group{combine: g.Combine}
	for i := range g.Terms {
		t := &g.Terms[i]
		at := append(slices.Clone(path), i)
		if len(g.Terms) == 1 && len(path) == 0 && !o.isList {
			at = nil // a single term needs no list
		}
		o.current = position{t.Name, at}
		member, err := o.term(t, at)
		if err != nil {
			return nil, err
		}
		opened.members = append(opened.members, *member)
	}
	return opened, nil
}

func (o *opener) term(t *termSpec, path []any) (*member, error) {
	m := &member{weight: t.Weight, modifier: t.modifier()}
	if len(t.Terms) > 0 {
		inner, err := o.group(&t.groupSpec, append(slices.Clone(path), "terms"))
		if err != nil {
			return nil, err
		}
		m.term = term{inner.unit(), inner.facts(), inner.value}
		return m, nil
	}
	opened, err := o.builtIn(t)
	if opened == nil && err == nil {
		opened, err = o.oracle(t)
	}
	if err != nil {
		name := fault.Clip(t.Name)
		return nil, fault.Field("value_error", name, path, "Value error, the term %q: %v", name, err)
	}
	if opened == nil && t.Name == Told {
		return nil, fault.Field("value_error", Told, path,
			"Value error, the term %q is for searches as jobs: POST /generate/jobs", Told)
	}
	if opened == nil {
		names := Names()
		for _, oracle := range o.known {
			names = append(names, oracle.Name())
		}
		return nil, fault.OneOf(fault.Clip(t.Name), names, path...)
	}
	m.term = *opened
	return m, nil
}

// modifier returns the modifier of a term, which may be the window of its min and max, or nil if there is none.
func (t *termSpec) modifier() *modifier {
	if t.Modifier == nil && (t.Min != nil || t.Max != nil) {
		return &modifier{Type: "window", Min: t.Min, Max: t.Max}
	}
	return t.Modifier
}

// oracle opens the term of an oracle. It returns nil if there is none with that name.
func (o *opener) oracle(t *termSpec) (*term, error) {
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
		at := slices.IndexFunc(o.oracles, func(u *usedOracle) bool { return u.Name() == t.Name })
		if at < 0 {
			at = len(o.oracles)
			o.oracles = append(o.oracles, &usedOracle{oracle, o.current.path})
		}
		unit := oracle.Unit()
		if t.Unit != 0 {
			unit = t.Unit
			if err := checkFactor("unit", unit); err != nil || unit < 0 {
				return nil, fmt.Errorf("unit should be above 0, not %v", unit)
			}
		}
		value := func(r *row) float64 { return r.outputs[at][output] }
		return &term{unit, oracle.Facts(), value}, t.checkParameters("output", "unit")
	}
	return nil, nil
}

// measure adds a measure to the panel, unless an equal one exists, and returns its index.
func (o *opener) measure(kind chem.MeasureKind, about string) int {
	m := chem.Measure{Kind: kind, About: about}
	if at := slices.Index(o.measures, m); at >= 0 {
		return at
	}
	o.measures = append(o.measures, m)
	o.users = append(o.users, o.current)
	return len(o.measures) - 1
}
