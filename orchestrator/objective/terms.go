package objective

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"

	"retort/chem"
	"retort/chem/synthesis"
)

// term is a term of an opened objective.
type term struct {
	unit  float64
	facts chem.Facts // needed by value
	value func(*row) float64
}

// row is a molecule with the inputs of its terms.
type row struct {
	molecule *chem.Molecule
	novelty  float64     // from the objective's sample
	steps    float64     // of the route that the objective's search finds
	measures []float64   // from the objective's panel
	outputs  [][]float64 // per oracle, one number per output
}

// fingerprints maps all names of a fingerprint in use to its similarity.
var fingerprints = map[string]chem.MeasureKind{
	"ECFP4": chem.Morgan2Similarity, "morgan2": chem.Morgan2Similarity, "": chem.Morgan2Similarity,
	"ECFP6": chem.Morgan3Similarity, "morgan3": chem.Morgan3Similarity,
	"FCFP4": chem.FeatureSimilarity, "feature_morgan2": chem.FeatureSimilarity,
	"AP": chem.PairSimilarity, "atom_pairs": chem.PairSimilarity,
}

// builtIn opens a built-in term. It returns nil if there is none with that name.
func (o *opener) builtIn(t *termSpec) (*term, error) {
	for _, p := range properties {
		if p.name == t.Name {
			return &term{p.unit, p.facts, func(r *row) float64 { return p.value(r.molecule) }}, t.checkParameters()
		}
	}
	for _, c := range counts {
		if c.name == t.Name {
			at := o.measure(c.kind, "")
			return &term{c.unit, 0, func(r *row) float64 { return r.measures[at] }}, t.checkParameters()
		}
	}
	switch t.Name {
	case "novelty":
		return o.novelty(t)
	case synthesisSteps:
		return o.synthesisSteps(t)
	case "similarity":
		return o.similarity(t, 1)
	case "median":
		return o.similarity(t, 2)
	case "substructure":
		return o.predicate(t, chem.Contains, t.SMARTS, "smarts")
	case "scaffold":
		if len(t.SMILES) != 1 {
			return nil, fmt.Errorf("smiles should have 1 molecule, not %d", len(t.SMILES))
		}
		return o.predicate(t, chem.SameScaffold, t.SMILES[0], "smiles")
	case "isomer":
		return o.isomer(t)
	case "element_count":
		at := o.measure(chem.ElementCount, t.Element)
		return &term{1, 0, func(r *row) float64 { return r.measures[at] }}, t.checkParameters("element")
	}
	return nil, nil
}

// novelty opens the distance to the nearest of a sample of the molecules that the model was trained on.
func (o *opener) novelty(t *termSpec) (*term, error) {
	if o.seen == nil {
		return nil, errors.New("the model has no sample of the molecules that it was trained on; " +
			"`retort model sample` writes one")
	}
	o.usesSeen = true
	return &term{0.1, chem.FactFingerprint, func(r *row) float64 { return r.novelty }}, t.checkParameters()
}

// synthesisSteps is the name of the term for the number of steps of the shortest route to a molecule.
const synthesisSteps = "synthesis_steps"

// noRoute is the value of synthesisSteps for a molecule without a route: one more than the longest route.
const noRoute = synthesis.MaxSteps + 1

// synthesisSteps opens the number of steps of the shortest route.
func (o *opener) synthesisSteps(t *termSpec) (*term, error) {
	if o.routes == nil {
		return nil, errors.New("no routes are searched here")
	}
	o.usesRoutes = true
	return &term{1, 0, func(r *row) float64 { return r.steps }}, t.checkParameters()
}

// similarity opens the geometric mean of the similarities to count molecules.
func (o *opener) similarity(t *termSpec, count int) (*term, error) {
	kind, known := fingerprints[t.Fingerprint]
	switch {
	case !known:
		return nil, fmt.Errorf("fingerprint is one of ECFP4, ECFP6, FCFP4 and AP, not %q", t.Fingerprint)
	case len(t.SMILES) != count:
		return nil, fmt.Errorf("smiles should have %d molecules, not %d", count, len(t.SMILES))
	}
	indices := make([]int, count)
	for i, smiles := range t.SMILES {
		indices[i] = o.measure(kind, smiles)
	}
	value := func(r *row) float64 {
		product := 1.0
		for _, i := range indices {
			product *= r.measures[i]
		}
		return math.Pow(product, 1/float64(count))
	}
	return &term{0.1, 0, value}, t.checkParameters("smiles", "fingerprint")
}

// predicate opens a term that is 1 or 0, or its negation. parameter is the name of the one that about comes from.
func (o *opener) predicate(t *termSpec, kind chem.MeasureKind, about, parameter string) (*term, error) {
	at := o.measure(kind, about)
	value := func(r *row) float64 { return r.measures[at] }
	if t.Not {
		value = func(r *row) float64 { return 1 - r.measures[at] }
	}
	return &term{0.1, 0, value}, t.checkParameters(parameter, "not")
}

// maxFormula is the upper bound of a formula, in bytes: 20 elements of two letters and four digits.
const maxFormula = 120

var element = regexp.MustCompile(`([A-Z][a-z]?)([0-9]{0,4})`)

// isomer opens the similarity of a molecule's formula to a given one: the geometric mean of one Gaussian per element
// for its number of atoms, with a deviation of 1, and one for the number of all atoms, with a deviation of 2.
func (o *opener) isomer(t *termSpec) (*term, error) {
	if len(t.Formula) > maxFormula {
		return nil, fmt.Errorf("formula has at most %d characters", maxFormula)
	}
	parts := element.FindAllStringSubmatch(t.Formula, -1)
	if t.Formula == "" || element.ReplaceAllString(t.Formula, "") != "" || len(parts) > 20 {
		return nil, fmt.Errorf("formula is one such as C9H8O4, not %q", t.Formula)
	}
	var indices []int
	var wanted []float64
	size := 0
	for _, part := range parts {
		number := 1
		if part[2] != "" {
			number, _ = strconv.Atoi(part[2]) // at most four digits
		}
		size += number
		indices = append(indices, o.measure(chem.ElementCount, part[1]))
		wanted = append(wanted, float64(number))
	}
	total := o.measure(chem.AtomCount, "")
	value := func(r *row) float64 {
		z := (r.measures[total] - float64(size)) / 2
		sum := -0.5 * z * z
		for i, at := range indices {
			d := r.measures[at] - wanted[i]
			sum -= 0.5 * d * d
		}
		return math.Exp(sum / float64(len(indices)+1))
	}
	return &term{0.1, 0, value}, t.checkParameters("formula")
}

// checkParameters returns an error if a term has other parameters than the allowed ones.
func (t *termSpec) checkParameters(allowed ...string) error {
	for _, parameter := range []struct {
		name string
		set  bool
	}{
		{"smiles", len(t.SMILES) > 0},
		{"fingerprint", t.Fingerprint != ""},
		{"smarts", t.SMARTS != ""},
		{"formula", t.Formula != ""},
		{"element", t.Element != ""},
		{"output", t.Output != ""},
		{"unit", t.Unit != 0},
		{"not", t.Not},
	} {
		if parameter.set && !slices.Contains(allowed, parameter.name) {
			return fmt.Errorf("%s has no meaning for this term", parameter.name)
		}
	}
	return nil
}
