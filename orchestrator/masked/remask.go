package masked

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/cores"
	"retort/chem/safe"
)

// Fragment remasking, after GenMol (arXiv:2501.06158, section 4.2 and the hit generation of section 5.3): two of the
// best fragments of a pool are bonded to a molecule. The molecule is cut at all single bonds outside of rings, one
// piece is replaced by masks, and the model fills them. The fragments of the result join the pool.
//
// There are two differences. The pool starts with the fragments of the first generation, so no library is needed. Half
// of the rows, on average, start from one of the best molecules instead of a bonded pair, which is a smaller step.
const (
	minRemasked    = 5        // lower bound of the mask that replaces a piece, in API tokens
	maxRemasked    = 15       // upper bound
	remaskAttempts = 8        // bound of the attempts, for one row, to find a molecule with a piece to replace
	remaskingSeed  = 0x4e3a5c // separates the random numbers of remasking from those of rows
)

// remask runs the rounds and returns the best distinct molecules, ranked.
func (g *generation) remask(ctx context.Context, found []*candidate, count int) ([]*candidate, error) {
	fragments := newPool(maxFragments)
	latest := found
	found = distinct(found)
	rank(found)
	for round := range int(g.request.Rounds) {
		if err := fragments.add(ctx, latest, g.seed); err != nil {
			return found, err
		}
		g.progress.Round = round + 1
		g.progress.Generated = 0
		g.progress.Requested = 0
		templates, err := g.remaskedTemplates(ctx, fragments.best(), found[:min(poolBest, len(found))], count)
		if err != nil {
			return found, err
		}
		latest, err = g.pass(ctx, templates, 1)
		if err == nil {
			var late []*candidate
			late, err = g.scorer.scoreLate(ctx, latest)
			latest = append(latest, late...)
		}
		latest = distinct(latest)
		found = distinct(append(found, latest...))
		rank(found)
		found = found[:min(max(count, poolBest), len(found))]
		if err == nil {
			err = g.checkpoint(found[:min(count, len(found))])
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// remaskedTemplates draws the templates of a round from the best fragments and molecules. If no attempt succeeds, it
// uses the template of the request.
func (g *generation) remaskedTemplates(
	ctx context.Context, fragments []*fragment, best []*candidate, count int,
) ([]*Template, error) {
	return cores.Map(ctx, count, func(i int) (*Template, error) {
		random := rand.New(rand.NewPCG(g.seed^remaskingSeed, uint64(g.passes)<<32|uint64(i)))
		for range remaskAttempts {
			var molecule string
			switch {
			case len(best) > 0 && random.IntN(2) == 0:
				molecule = drawRanked(best, random).molecule.SMILES()
			case len(fragments) > 0:
				first := drawRanked(fragments, random)
				second := drawRanked(fragments, random)
				var err error
				if molecule, err = safe.Bond(first.smiles, second.smiles); err != nil {
					continue
				}
			default:
				continue
			}
			if t := g.template.remask(molecule, random); t != nil {
				return t, nil
			}
		}
		return g.template, nil
	})
}

// drawRanked draws an element of a ranked list, with a probability in proportion to 1/√rank.
func drawRanked[T any](ranked []T, random *rand.Rand) T {
	u := random.Float64()
	return ranked[int(u*u*float64(len(ranked)))]
}

// remask returns a molecule as a template in which a mask replaces one piece. It returns nil if the molecule has only
// one piece or the rest lacks a given fragment.
func (t *Template) remask(molecule string, random *rand.Rand) *Template {
	pieces, err := safe.Cut(molecule, safe.SingleBonds)
	if err != nil || len(pieces) < 2 {
		return nil
	}
	removed := random.IntN(len(pieces))
	rest, err := safe.Join(slices.Delete(pieces, removed, removed+1))
	if err != nil || !t.isIn(rest) {
		return nil
	}
	return &Template{given: strings.Split(rest, "."), masks: []maskRange{{least: minRemasked, most: maxRemasked}}}
}

// isIn reports whether a SMILES contains all given fragments.
func (t *Template) isIn(smiles string) bool {
	if len(t.queries) == 0 {
		return true
	}
	molecule, err := chem.Parse(smiles)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(t.queries, func(q *chem.Query) bool {
		found, err := q.In(molecule)
		return err != nil || !found
	})
}
