package objective

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"retort/chem"
)

// term is a term of an opened objective: how its value comes out of a row of what was computed of a molecule.
type term struct {
	unit  float64
	facts chem.Facts
	value func(*row) float64
}

// row is what is known of one molecule when its terms are computed.
type row struct {
	molecule *chem.Molecule
	measures []float64   // of the objective's panel
	outputs  [][]float64 // of each oracle, one number per output
}

// The fingerprints of similarity and median, by all names that are in use.
var fingerprints = map[string]chem.MeasureKind{
	"ECFP4": chem.Morgan2Similarity, "morgan2": chem.Morgan2Similarity, "": chem.Morgan2Similarity,
	"ECFP6": chem.Morgan3Similarity, "morgan3": chem.Morgan3Similarity,
	"FCFP4": chem.FeatureSimilarity, "feature_morgan2": chem.FeatureSimilarity,
	"AP": chem.PairSimilarity, "atom_pairs": chem.PairSimilarity,
}

// builtIn makes the term of a name, or says what is wrong with it; nil where no built-in term has that name.
func (o *opening) builtIn(t *Term) (*term, error) {
	for _, p := range properties {
		if p.name == t.Name {
			return &term{p.unit, p.facts, func(r *row) float64 { return p.value(r.molecule) }}, t.has()
		}
	}
	for _, c := range counts {
		if c.name == t.Name {
			at := o.measure(c.kind, "")
			return &term{c.unit, 0, func(r *row) float64 { return r.measures[at] }}, t.has()
		}
	}
	switch t.Name {
	case "similarity":
		return o.similarity(t, 1)
	case "median":
		return o.similarity(t, 2)
	case "substructure":
		return o.yes(t, chem.Contains, t.SMARTS, "smarts")
	case "scaffold":
		return o.yes(t, chem.SameScaffold, first(t.SMILES), "smiles")
	case "isomer":
		return o.isomer(t)
	case "element_count":
		at := o.measure(chem.ElementCount, t.Element)
		return &term{1, 0, func(r *row) float64 { return r.measures[at] }}, t.has("element")
	}
	return nil, nil
}

// similarity is the similarity to one molecule, or the geometric mean of those to count molecules.
func (o *opening) similarity(t *Term, count int) (*term, error) {
	kind, known := fingerprints[t.Fingerprint]
	switch {
	case !known:
		return nil, fmt.Errorf("fingerprint is one of ECFP4, ECFP6, FCFP4 and AP, not %q", t.Fingerprint)
	case len(t.SMILES) != count:
		return nil, fmt.Errorf("smiles should have %d molecules, not %d", count, len(t.SMILES))
	}
	places := make([]int, count)
	for i, smiles := range t.SMILES {
		places[i] = o.measure(kind, smiles)
	}
	value := func(r *row) float64 {
		values := make([]float64, count)
		for i, at := range places {
			values[i] = r.measures[at]
		}
		return geometric(values)
	}
	if count == 1 {
		value = func(r *row) float64 { return r.measures[places[0]] }
	}
	return &term{0.1, 0, value}, t.has("smiles", "fingerprint")
}

// yes is a term that is 1 or 0, or the opposite.
func (o *opening) yes(t *Term, kind chem.MeasureKind, about, member string) (*term, error) {
	at := o.measure(kind, about)
	value := func(r *row) float64 { return r.measures[at] }
	if t.Not {
		value = func(r *row) float64 { return 1 - r.measures[at] }
	}
	return &term{0.1, 0, value}, t.has(member, "not")
}

// maxFormula bounds a formula, in bytes: 20 elements of two letters and four digits.
const maxFormula = 120

var element = regexp.MustCompile(`([A-Z][a-z]?)([0-9]{0,4})`)

// isomer is how near a molecule's formula is to that of the term: the geometric mean of a Gaussian for the number of
// atoms of each of its elements, with the deviation 1, and one for the number of all atoms, with the deviation 2.
func (o *opening) isomer(t *Term) (*term, error) {
	if len(t.Formula) > maxFormula {
		return nil, fmt.Errorf("formula has at most %d characters", maxFormula)
	}
	parts := element.FindAllStringSubmatch(t.Formula, -1)
	if t.Formula == "" || element.ReplaceAllString(t.Formula, "") != "" || len(parts) > 20 {
		return nil, fmt.Errorf("formula is one such as C9H8O4, not %q", t.Formula)
	}
	var places []int
	var wanted []float64
	all := 0
	for _, part := range parts {
		number := 1
		if part[2] != "" {
			number, _ = strconv.Atoi(part[2]) // at most four digits
		}
		all += number
		places = append(places, o.measure(chem.ElementCount, part[1]))
		wanted = append(wanted, float64(number))
	}
	total := o.measure(chem.AtomCount, "")
	value := func(r *row) float64 {
		z := (r.measures[total] - float64(all)) / 2
		sum := -0.5 * z * z
		for i, at := range places {
			d := r.measures[at] - wanted[i]
			sum -= 0.5 * d * d
		}
		return math.Exp(sum / float64(len(places)+1))
	}
	return &term{0.1, 0, value}, t.has("formula")
}

// has checks that a term says nothing but these members of what it is about.
func (t *Term) has(members ...string) error {
	said := map[string]bool{
		"smiles": len(t.SMILES) > 0, "fingerprint": t.Fingerprint != "", "smarts": t.SMARTS != "", "formula": t.Formula != "",
		"element": t.Element != "", "output": t.Output != "", "not": t.Not,
	}
	for _, m := range members {
		delete(said, m)
	}
	for _, m := range []string{"smiles", "fingerprint", "smarts", "formula", "element", "output", "not"} {
		if said[m] {
			return fmt.Errorf("%s has no meaning for this term", m)
		}
	}
	return nil
}

func first(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return texts[0]
}
