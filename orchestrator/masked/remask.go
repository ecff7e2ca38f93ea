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
// with the fragments of the first generation, so that no library is needed.
const (
	minRemasked   = 5        // fewest mask tokens in the place of a piece
	maxRemasked   = 15       // most mask tokens in its place
	pairsTried    = 8        // for one row, to find a pair that leaves the given fragments in place
	remaskingSeed = 0x4e3a5c // so that pairs are not drawn with the random numbers of the rows
)

// remask runs the rounds and returns the best distinct molecules of all of them; beside an error, those until then.
func (g *generation) remask(ctx context.Context, found []*candidate, wanted int) ([]*candidate, error) {
	fragments := pool{}
	latest := found
	for round := range int(g.request.Rounds) {
		fragments.add(latest, g.seed)
		g.progress.Round = round + 1
		g.progress.Generated = 0
		g.progress.Requested = 0
		templates, err := g.remasked(ctx, fragments.best(), wanted)
		if err != nil {
			return found, err
		}
		latest, err = g.turn(ctx, templates)
		latest = distinct(latest)
		found = distinct(append(found, latest...))
		rank(found)
		found = found[:min(max(wanted, poolDrawn), len(found))]
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// remasked makes a round's templates. Where no pair of fragments leaves the given ones in place, the row is drawn from
// the request's template.
func (g *generation) remasked(ctx context.Context, best []*pooled, count int) ([]*Template, error) {
	return inParallel(ctx, count, func(i int) (*Template, error) {
		random := rand.New(rand.NewPCG(g.seed^remaskingSeed, uint64(g.turns)<<32|uint64(i)))
		for range pairsTried {
			if len(best) == 0 {
				break
			}
			one := best[random.IntN(len(best))]
			other := best[random.IntN(len(best))]
			if t := g.template.remasked(one.smiles, other.smiles, random); t != nil {
				return t, nil
			}
		}
		return g.template, nil
	})
}

// remasked bonds two fragments to a molecule and replaces one piece of that by a mask. It is nil where that is not
// possible, or takes a given fragment away.
func (t *Template) remasked(one, other string, random *rand.Rand) *Template {
	molecule, err := safe.Bond(one, other)
	if err != nil {
		return nil
	}
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
