package masked

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/safe"
)

// candidate is a molecule that a model made.
type candidate struct {
	molecule  *chem.Molecule
	score     float64
	asWritten bool // the whole SAFE string was one molecule; otherwise it was repaired
}

// text is the SAFE string of an unmasked row, in the bracket form, with the given fragments as they were, stereo too.
func (d *draft) text(model Model, ids []int32) (string, error) {
	var nested strings.Builder
	for _, p := range d.parts {
		if p.given != "" {
			nested.WriteString(p.given)
			continue
		}
		made, err := model.Decode(ids[p.from:p.to])
		if err != nil {
			return "", err
		}
		nested.WriteString(made)
	}
	return safe.FromNested(nested.String()), nil
}

// decode reads a SAFE string. Where it is not one molecule as written, it is repaired as GenMol does: fragments that do
// not read alone are dropped, open attachments are closed by hydrogen, and the largest molecule is taken. The result is
// "" where nothing is left.
func decode(text string) (smiles string, asWritten bool) {
	smiles, err := safe.Decode(text, safe.DecodeOptions{Strict: true})
	if err == nil && !strings.Contains(smiles, ".") {
		return smiles, true
	}
	if smiles, err = safe.Decode(text, safe.DecodeOptions{Repair: true}); err != nil {
		return "", false
	}
	if smiles, err = chem.LargestFragment(smiles); err != nil {
		return "", false
	}
	return smiles, false
}

// read makes molecules of unmasked rows. Rows that are none, or have lost a given fragment, are left out. Beside an error
// come those that were scored before.
func (g *generation) read(ctx context.Context, drafts []*draft, rows [][]int32) ([]*candidate, error) {
	type reading struct {
		smiles    string
		asWritten bool
	}
	readings, err := inParallel(ctx, len(rows), func(i int) (reading, error) {
		text, err := drafts[i].text(g.model, rows[i])
		if err != nil {
			return reading{}, err
		}
		smiles, asWritten := decode(text)
		return reading{smiles, asWritten}, nil
	})
	if err != nil {
		return nil, err
	}
	readings = slices.DeleteFunc(readings, func(r reading) bool { return r.smiles == "" })
	texts := make([]string, len(readings))
	for i, r := range readings {
		texts[i] = r.smiles
	}
	results, err := chem.Evaluate(ctx, texts, chem.Options{Facts: g.facts})
	if err != nil {
		return nil, err
	}
	var molecules []*chem.Molecule
	var asWritten []bool
	for i, r := range results {
		if r.Err == nil {
			molecules = append(molecules, r.Molecule)
			asWritten = append(asWritten, readings[i].asWritten)
		}
	}
	return g.scored(ctx, molecules, func(i int) bool { return asWritten[i] })
}

// scored makes candidates of the molecules that have the given fragments and a score. Beside an error come those that
// were scored before.
func (g *generation) scored(ctx context.Context, molecules []*chem.Molecule, asWritten func(i int) bool) ([]*candidate, error) {
	all := make([]*candidate, len(molecules))
	for i, m := range molecules {
		all[i] = &candidate{molecule: m, asWritten: asWritten(i)}
	}
	all, err := g.template.withFragments(ctx, all)
	if err != nil {
		return nil, err
	}
	molecules = make([]*chem.Molecule, len(all))
	for i, c := range all {
		molecules[i] = c.molecule
	}
	scores, err := g.scorer.score(ctx, molecules)
	var found []*candidate
	for i, c := range all[:len(scores)] {
		if c.score = scores[i]; !math.IsNaN(c.score) && !math.IsInf(c.score, 0) {
			found = append(found, c)
		}
	}
	return found, err
}

// withFragments keeps the molecules that contain all the given fragments.
func (t *Template) withFragments(ctx context.Context, found []*candidate) ([]*candidate, error) {
	for _, query := range t.queries {
		molecules := make([]*chem.Molecule, len(found))
		for i, c := range found {
			molecules[i] = c.molecule
		}
		contains, err := query.Filter(ctx, molecules)
		if err != nil {
			return nil, err
		}
		kept := found[:0]
		for i, c := range found {
			if contains[i] {
				kept = append(kept, c)
			}
		}
		found = kept
	}
	return found, nil
}

// distinct keeps the first of equal molecules.
func distinct(found []*candidate) []*candidate {
	seen := map[string]bool{}
	var kept []*candidate
	for _, c := range found {
		if s := c.molecule.SMILES(); !seen[s] {
			seen[s] = true
			kept = append(kept, c)
		}
	}
	return kept
}

// rank puts the highest score first, equal ones in the order of their SMILES.
func rank(found []*candidate) {
	slices.SortStableFunc(found, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.molecule.SMILES(), b.molecule.SMILES()))
	})
}

// answer writes molecules as the API does, with all their scores where these are wanted.
func (g *generation) answer(found []*candidate) []Molecule {
	molecules := make([]Molecule, len(found))
	for i, c := range found {
		molecules[i] = Molecule{SMILES: c.molecule.SMILES(), Score: g.scorer.shown(c.score)}
		if g.request.Scores {
			molecules[i].Scores = c.scores()
		}
	}
	return molecules
}

// factsOfScores are the facts of a molecule that scores reads; its weight comes with the formula.
const factsOfScores = chem.FactQED | chem.FactLogP | chem.FactSA | chem.FactTPSA | chem.FactFormula

func (c *candidate) scores() *Scores {
	return &Scores{
		QED:       rounded(c.molecule.QED()),
		LogP:      rounded(c.molecule.LogP()),
		SA:        rounded(c.molecule.SA()),
		TPSA:      rounded(c.molecule.TPSA()),
		Weight:    rounded(c.molecule.Weight()),
		AsWritten: c.asWritten,
	}
}

// rounded keeps three decimals, as the published service does.
func rounded(score float64) float64 { return math.Round(score*1000) / 1000 }
