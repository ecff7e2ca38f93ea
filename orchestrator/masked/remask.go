package masked

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"

	"retort/chem"
	"retort/chem/safe"
)

// Fragment remasking, after GenMol (arXiv:2501.06158, section 4.2 and the hit generation of section 5.3): two of the
// best fragments of a pool are bonded to a molecule; that is cut at all single bonds outside of rings, one piece is
// replaced by masks, and the model fills these; the fragments of what comes out join the pool. Here the pool begins
// with the fragments of the first generation, so that no library is needed, and every other row begins with one of the
// best molecules itself: it loses one piece, which is a smaller step.
const (
	minRemasked   = 5        // fewest mask tokens in the place of a piece
	maxRemasked   = 15       // most mask tokens in its place
	drawsTried    = 8        // for one row, to find a molecule that can lose a piece and keep the given fragments
	remaskingSeed = 0x4e3a5c // so that molecules are not drawn with the random numbers of the rows
)

// remask runs the rounds and returns the best distinct molecules of all of them; beside an error, those until then.
func (g *generation) remask(ctx context.Context, found []*candidate, wanted int) ([]*candidate, error) {
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
		templates, err := g.remasked(ctx, fragments.best(), found[:min(poolDrawn, len(found))], wanted)
		if err != nil {
			return found, err
		}
		latest, err = g.turn(ctx, templates, 1)
		latest = distinct(latest)
		found = distinct(append(found, latest...))
		rank(found)
		found = found[:min(max(wanted, poolDrawn), len(found))]
		if err == nil {
			err = g.checkpoint(found[:min(wanted, len(found))])
		}
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// remasked makes a round's templates of the best fragments and the best molecules. Where none that is drawn can lose a
// piece and keep the given fragments, the row is drawn from the request's template.
func (g *generation) remasked(ctx context.Context, fragments []*pooled, found []*candidate, count int) ([]*Template, error) {
	return inParallel(ctx, count, func(i int) (*Template, error) {
		random := rand.New(rand.NewPCG(g.seed^remaskingSeed, uint64(g.turns)<<32|uint64(i)))
		for range drawsTried {
			var molecule string
			switch {
			case len(found) > 0 && random.IntN(2) == 0:
				molecule = ranked(found, random).molecule.SMILES()
			case len(fragments) > 0:
				var err error
				if molecule, err = safe.Bond(ranked(fragments, random).smiles, ranked(fragments, random).smiles); err != nil {
					continue
				}
			default:
				continue
			}
			if t := g.template.remasked(molecule, random); t != nil {
				return t, nil
			}
		}
		return g.template, nil
	})
}

// ranked draws one of a list, the first more often: the rank has a density in proportion to 1 / root of the rank.
func ranked[T any](best []T, random *rand.Rand) T {
	u := random.Float64()
	return best[int(u*u*float64(len(best)))]
}

// remasked replaces one piece of a molecule by a mask. It is nil where that is not possible, or takes a given fragment
// away.
func (t *Template) remasked(molecule string, random *rand.Rand) *Template {
	pieces, err := safe.Cut(molecule, safe.SingleBonds)
	if err != nil || len(pieces) < 2 {
		return nil
	}
	removed := random.IntN(len(pieces))
	rest, err := safe.Join(slices.Delete(pieces, removed, removed+1))
	if err != nil || !t.in(rest) {
		return nil
	}
	return &Template{Given: strings.Split(rest, "."), Masks: []Mask{{Least: minRemasked, Most: maxRemasked}}}
}

// in reports whether all given fragments are in what is left of a molecule.
func (t *Template) in(rest string) bool {
	if len(t.queries) == 0 {
		return true
	}
	molecule, err := chem.Parse(rest)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(t.queries, func(q *chem.Query) bool {
		found, err := q.In(molecule)
		return err != nil || !found
	})
}
