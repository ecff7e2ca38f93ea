package masked

import (
	"cmp"
	"context"
	"math"
	"regexp"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/cores"
	"retort/orchestrator/fault"
)

// candidate is a molecule with a score.
type candidate struct {
	molecule  *chem.Molecule
	score     float64
	asWritten bool // the model's SAFE text is the whole molecule, unrepaired
}

// readWarmStarts parses and scores the molecules that the rounds start from. A text that is not a molecule is Invalid.
// Molecules without a given fragment or without a score are dropped.
func (g *generation) readWarmStarts(ctx context.Context) error {
	results, err := chem.Evaluate(ctx, g.request.Smi, g.facts)
	if err != nil {
		return err
	}
	var problems fault.Problems
	problems.AddEach(len(results), func(i int) *fault.Error {
		if err := results[i].Err; err != nil {
			return fault.Field("value_error", fault.Clip(g.request.Smi[i]), []any{"smi", i},
				"not a valid SMILES: %v", err)
		}
		return nil
	})
	if err := problems.Err(); err != nil {
		return err
	}
	candidates := make([]*candidate, len(results))
	for i, r := range results {
		candidates[i] = &candidate{molecule: r.Molecule, asWritten: true}
	}
	scored, err := g.score(ctx, candidates)
	g.scorer.note(scored)
	g.warmStarts = distinct(scored)
	return err
}

// text returns the text of an unmasked row. The given fragments are exact, with stereo.
func (d *draft) text(model Model, ids []int32) (string, error) {
	var text strings.Builder
	for _, p := range d.parts {
		if p.given != "" {
			text.WriteString(p.given)
			continue
		}
		added, err := model.Decode(ids[p.from:p.to])
		if err != nil {
			return "", err
		}
		text.WriteString(added)
	}
	return text.String(), nil
}

// read returns the scored molecules of unmasked rows. Rows that are no molecule or lack a given fragment are dropped.
func (g *generation) read(ctx context.Context, drafts []*draft, rows [][]int32) ([]*candidate, error) {
	type decoded struct {
		smiles    string
		asWritten bool
	}
	all, err := cores.Map(ctx, len(rows), func(i int) (decoded, error) {
		text, err := drafts[i].text(g.model, rows[i])
		if err != nil {
			return decoded{}, err
		}
		smiles, asWritten := g.model.sampler().read(text)
		return decoded{smiles, asWritten}, nil
	})
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(d decoded) bool { return d.smiles == "" })
	smiles := make([]string, len(all))
	for i, d := range all {
		smiles[i] = d.smiles
	}
	results, err := chem.Evaluate(ctx, smiles, g.facts)
	if err != nil {
		return nil, err
	}
	var candidates []*candidate
	for i, r := range results {
		if r.Err == nil && !g.template.addsCarbocation(r.Molecule.SMILES()) {
			candidates = append(candidates, &candidate{molecule: r.Molecule, asWritten: all[i].asWritten})
		}
	}
	return g.score(ctx, candidates)
}

// score scores candidates and drops those without a given fragment, that fail a filter, or without a finite score.
func (g *generation) score(ctx context.Context, candidates []*candidate) ([]*candidate, error) {
	candidates, err := g.template.filter(ctx, candidates)
	if err != nil {
		return nil, err
	}
	candidates, err = g.scorer.filtered(ctx, candidates)
	if err != nil {
		return nil, err
	}
	scores, err := g.scorer.score(ctx, moleculesOf(candidates))
	var scored []*candidate
	for i, c := range candidates[:len(scores)] {
		if c.score = scores[i]; !math.IsNaN(c.score) && !math.IsInf(c.score, 0) {
			scored = append(scored, c)
		}
	}
	return scored, err
}

// carbocation matches a positively charged carbon. Package chem accepts those with four bonds, such as C[CH3+] and
// C[C+](C)(C)C, and RDKit 2026.9 refuses them; those with three are intermediates of reactions, not products.
var carbocation = regexp.MustCompile(`\[\d*[Cc]@{0,2}(H\d?)?\+`)

// addsCarbocation reports whether a molecule has a carbocation although the given fragments have none.
func (t *Template) addsCarbocation(smiles string) bool {
	return carbocation.MatchString(smiles) && !slices.ContainsFunc(t.given, carbocation.MatchString)
}

// filter returns the candidates that contain all given fragments.
func (t *Template) filter(ctx context.Context, candidates []*candidate) ([]*candidate, error) {
	for _, query := range t.queries {
		contains, err := query.Filter(ctx, moleculesOf(candidates))
		if err != nil {
			return nil, err
		}
		matching := candidates[:0]
		for i, c := range candidates {
			if contains[i] {
				matching = append(matching, c)
			}
		}
		candidates = matching
	}
	return candidates, nil
}

func moleculesOf(candidates []*candidate) []*chem.Molecule {
	all := make([]*chem.Molecule, len(candidates))
	for i, c := range candidates {
		all[i] = c.molecule
	}
	return all
}

// distinct returns the first of each group of equal molecules.
func distinct(candidates []*candidate) []*candidate {
	seen := map[string]bool{}
	var unique []*candidate
	for _, c := range candidates {
		if s := c.molecule.SMILES(); !seen[s] {
			seen[s] = true
			unique = append(unique, c)
		}
	}
	return unique
}

// rank sorts by descending score, then by SMILES.
func rank(candidates []*candidate) {
	slices.SortStableFunc(candidates, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.molecule.SMILES(), b.molecule.SMILES()))
	})
}

// molecules returns candidates in the form of the answer, with their properties if the request asks for them.
func (g *generation) molecules(candidates []*candidate) []Molecule {
	all := make([]Molecule, len(candidates))
	for i, c := range candidates {
		all[i] = Molecule{SMILES: c.molecule.SMILES(), Score: g.scorer.displayed(c.score)}
		if g.request.Scores.All {
			all[i].Scores = c.properties()
		}
	}
	return all
}

// addValues adds the wanted scores of candidates to their molecules of the answer.
func (g *generation) addValues(ctx context.Context, candidates []*candidate, molecules []Molecule) error {
	if g.scorer.values == nil {
		return nil
	}
	values, err := g.scorer.values.Values(ctx, moleculesOf(candidates))
	if err != nil {
		return err
	}
	for i, c := range candidates {
		molecules[i].Scores = &Scores{terms: &values[i]}
		if alerts := g.scorer.values.Alerts(c.molecule); len(alerts) > 0 {
			molecules[i].Alerts = &alerts
		}
		molecules[i].Route = g.scorer.values.Route(c.molecule)
	}
	return nil
}

// factsOfScores are the facts that properties reads; the weight comes with the formula.
const factsOfScores = chem.FactQED | chem.FactLogP | chem.FactSA | chem.FactTPSA | chem.FactFormula

func (c *candidate) properties() *Scores {
	return &Scores{
		QED:       rounded(c.molecule.QED()),
		LogP:      rounded(c.molecule.LogP()),
		SA:        rounded(c.molecule.SA()),
		TPSA:      rounded(c.molecule.TPSA()),
		Weight:    rounded(c.molecule.Weight()),
		AsWritten: c.asWritten,
	}
}

// rounded rounds to three decimals, as the published service does.
func rounded(score float64) float64 { return math.Round(score*1000) / 1000 }
