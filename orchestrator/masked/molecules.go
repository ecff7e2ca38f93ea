package masked

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"retort/chem"
)

// candidate is a molecule that a model made.
type candidate struct {
	molecule  *chem.Molecule
	score     float64
	asWritten bool // the whole SAFE string was one molecule
}

// text is the SAFE string of an unmasked row, the given fragments with their
// stereo.
func (d *draft) text(model Model, ids []int32) (string, error) {
	var nested strings.Builder
	for _, p := range d.parts {
		nested.WriteString(p.given)
		if p.given == "" {
			made, err := model.Decode(ids[p.from:p.to])
			if err != nil {
				return "", err
			}
			nested.WriteString(made)
		}
	}
	return numbered(nested.String()), nil
}

// decoded reads a SAFE string. Where the whole of it is not one molecule,
// fragments that do not read alone are dropped, open attachment numbers are
// closed by hydrogen, and the largest molecule is taken, as GenMol does. It is
// "" where nothing is left.
func decoded(safe string) (smiles string, asWritten bool) {
	smiles, err := chem.DecodeSAFE(safe, chem.DecodeOptions{Strict: true})
	if err == nil && !strings.Contains(smiles, ".") {
		return smiles, true
	}
	if smiles, err = chem.DecodeSAFE(safe, chem.DecodeOptions{Repair: true}); err != nil {
		return "", false
	}
	if smiles, err = chem.LargestFragment(smiles); err != nil {
		return "", false
	}
	return smiles, false
}

// read makes molecules of unmasked rows: those that are none, or have lost a
// given fragment, are left out.
func (g *generation) read(ctx context.Context, t *Template, drafts []*draft, rows [][]int32) ([]*candidate, error) {
	type reading struct {
		smiles    string
		asWritten bool
	}
	readings, err := spread(ctx, len(rows), func(i int) (reading, error) {
		text, err := drafts[i].text(g.model, rows[i])
		if err != nil {
			return reading{}, err
		}
		smiles, asWritten := decoded(text)
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
	var found []*candidate
	for i, r := range results {
		if r.Err == nil {
			found = append(found, &candidate{molecule: r.Molecule, score: g.score(r.Molecule), asWritten: readings[i].asWritten})
		}
	}
	return t.keepers(ctx, found)
}

// keepers are the molecules in which all the given fragments are.
func (t *Template) keepers(ctx context.Context, found []*candidate) ([]*candidate, error) {
	for _, query := range t.queries {
		molecules := make([]*chem.Molecule, len(found))
		for i, c := range found {
			molecules[i] = c.molecule
		}
		keep, err := query.Filter(ctx, molecules)
		if err != nil {
			return nil, err
		}
		kept := found[:0]
		for i, c := range found {
			if keep[i] {
				kept = append(kept, c)
			}
		}
		found = kept
	}
	return found, nil
}

// distinct leaves out molecules that came before.
func distinct(found []*candidate) []*candidate {
	seen := map[string]bool{}
	var out []*candidate
	for _, c := range found {
		if s := c.molecule.SMILES(); !seen[s] {
			seen[s] = true
			out = append(out, c)
		}
	}
	return out
}

// ranked puts the highest score first, equal ones by SMILES.
func ranked(found []*candidate) {
	slices.SortStableFunc(found, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.molecule.SMILES(), b.molecule.SMILES()))
	})
}

// answer writes molecules as the API does.
func answer(found []*candidate, scores bool) []Molecule {
	molecules := make([]Molecule, len(found))
	for i, c := range found {
		m := c.molecule
		molecules[i] = Molecule{SMILES: m.SMILES(), Score: rounded(c.score)}
		if scores {
			molecules[i].Scores = &Scores{
				QED: rounded(m.QED()), LogP: rounded(m.LogP()), SA: rounded(m.SA()), TPSA: rounded(m.TPSA()),
				Weight: rounded(m.Weight()), AsWritten: c.asWritten,
			}
		}
	}
	return molecules
}

// rounded keeps three decimals, as the published service does.
func rounded(score float64) float64 { return math.Round(score*1000) / 1000 }
