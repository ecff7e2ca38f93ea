package latent

import (
	"context"
	"fmt"
	"math"
	"strings"

	"retort/chem"
	"retort/orchestrator/fault"
)

// goal is what a request wants of molecules: a property, its direction, and
// the least similarity to the seed.
type goal struct {
	terms    []goalTerm
	facts    chem.Facts // to compute in advance
	unit     float64    // a step of the sum worth taking
	minimize bool
	floor    float64 // least similarity; 0 for none
}

// goalTerm is a term whose name has been looked up.
type goalTerm struct {
	Term
	unit   float64
	value  func(*chem.Molecule) float64 // nil for an oracle
	oracle *Oracle
}

// goalOf looks the names of a request up among the built-in properties and the
// oracles that Triton serves now.
func goalOf(r Generate, oracles []*Oracle) (*goal, error) {
	g := &goal{facts: chem.FactFingerprint, minimize: r.Minimize}
	if r.Algorithm == guided {
		g.floor = r.MinSimilarity
	}
	for _, t := range r.PropertyName.Terms {
		term, facts, ok := lookUp(t, oracles)
		if !ok {
			return nil, unknown(t.Name, oracles)
		}
		g.facts |= facts
		g.terms = append(g.terms, term)
		unit := term.unit
		if t.Min != nil || t.Max != nil {
			unit = windowed
		}
		g.unit = max(g.unit, math.Abs(t.Weight)*unit)
	}
	return g, nil
}

func lookUp(t Term, oracles []*Oracle) (goalTerm, chem.Facts, bool) {
	for _, p := range properties {
		if p.name == t.Name {
			return goalTerm{Term: t, unit: p.unit, value: p.value}, p.facts, true
		}
	}
	for _, o := range oracles {
		if o.name == t.Name {
			return goalTerm{Term: t, unit: o.unit, oracle: o}, 0, true
		}
	}
	return goalTerm{}, 0, false
}

// unknown words a name that is no property as pydantic does.
func unknown(name string, oracles []*Oracle) error {
	var names []string
	for _, p := range properties {
		names = append(names, p.name)
	}
	for _, o := range oracles {
		names = append(names, o.name)
	}
	last := len(names) - 1
	expected := fmt.Sprintf("'%s' or '%s'", strings.Join(names[:last], "', '"), names[last])
	f := fault.Field("literal_error", name, []any{"property_name"}, "Input should be %s", expected)
	f.Limits = map[string]any{"expected": expected}
	return f
}

// score gives the sum of the terms for each molecule.
func (g *goal) score(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
	scores := make([]float64, len(molecules))
	for i := range g.terms {
		values, err := g.terms[i].values(ctx, molecules)
		if err != nil {
			return nil, err
		}
		for k, v := range values {
			scores[k] += g.terms[i].Weight * g.terms[i].desired(v, g.terms[i].unit)
		}
	}
	return scores, nil
}

func (t *goalTerm) values(ctx context.Context, molecules []*chem.Molecule) ([]float64, error) {
	if t.oracle != nil {
		prints := make([]chem.Fingerprint, len(molecules))
		for i, m := range molecules {
			prints[i] = m.Fingerprint()
		}
		return t.oracle.batcher.Do(ctx, prints)
	}
	values := make([]float64, len(molecules))
	for i, m := range molecules {
		values[i] = t.value(m)
	}
	return values, nil
}

// better reports whether score a is better than b.
func (g *goal) better(a, b float64) bool { return (a > b) != g.minimize && a != b }

// deficitWeight is what losing all similarity costs, in units of the property.
const deficitWeight = 10

// merit is what the search maximises: the property in its units, and below the
// floor a penalty in proportion to what is missing, as MolMIM's sum of
// QED / 0.9 and similarity / floor, each clipped at 1, but unclipped above, so
// that the best go on to improve.
func (g *goal) merit(score, similarity float64) float64 {
	merit := score / g.unit
	if g.minimize {
		merit = -merit
	}
	if similarity < g.floor {
		merit -= deficitWeight * (g.floor - similarity) / g.floor
	}
	return merit
}
