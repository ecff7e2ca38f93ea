package masked

import (
	"cmp"
	"context"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"retort/chem"
)

// Fragment remasking, after GenMol (arXiv:2501.06158, section 4.2 and the hit
// generation of section 5.3): keep a pool of fragments scored by the molecules
// they are of; join two of the best to a molecule; cut that at all single bonds
// outside of rings, replace one piece by masks, and unmask; add the fragments
// of what comes out to the pool. Here the pool begins with the fragments of the
// first generation, so no library is needed.
const (
	bestFragments   = 100 // pairs are drawn from these
	remaskedLeast   = 5   // mask tokens in the place of a piece
	remaskedMost    = 15
	cutsPerMolecule = 8
	triesPerRow     = 8 // to find a pair that keeps the given fragments
)

var attachment = regexp.MustCompile(`<\d+>`)

// fragments are scored halves of molecules, by canonical SMILES with one open
// position.
type fragments map[string]*scored

type scored struct {
	smiles string
	total  float64
	count  int
}

func (s *scored) mean() float64 { return s.total / float64(s.count) }

// add cuts molecules and counts their scores for both sides.
func (f fragments) add(found []*candidate, seed uint64) {
	for _, c := range found {
		halves, err := chem.Halves(c.molecule.SMILES(), cutsPerMolecule, seed)
		if err != nil {
			continue // a molecule above the limits of cutting has no fragments
		}
		for _, both := range halves {
			for side := range strings.SplitSeq(both, ".") {
				if f[side] == nil {
					f[side] = &scored{smiles: side}
				}
				f[side].total += c.score
				f[side].count++
			}
		}
	}
}

// best are the fragments of highest mean score, equal ones by SMILES.
func (f fragments) best() []*scored {
	all := make([]*scored, 0, len(f))
	for _, s := range f {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *scored) int {
		return cmp.Or(cmp.Compare(b.mean(), a.mean()), cmp.Compare(a.smiles, b.smiles))
	})
	return all[:min(bestFragments, len(all))]
}

// remask runs the rounds and returns the best distinct molecules of all.
func (g *generation) remask(ctx context.Context, found []*candidate, wanted int) ([]*candidate, error) {
	pool, fresh := fragments{}, found
	for round := range int(g.request.Rounds) {
		pool.add(fresh, g.seed)
		g.progress.Round, g.progress.Generated, g.progress.Requested = round+1, 0, 0
		templates, err := g.remasked(ctx, pool.best(), wanted)
		if err != nil {
			return nil, err
		}
		if fresh, err = g.turn(ctx, templates); err != nil {
			return nil, err
		}
		fresh = distinct(fresh)
		found = distinct(append(found, fresh...))
		ranked(found)
		found = found[:min(max(wanted, bestFragments), len(found))]
	}
	return found, nil
}

// remasked makes a round's templates. Where no pair of fragments keeps the given
// ones, the row is drawn from the request's own template.
func (g *generation) remasked(ctx context.Context, best []*scored, count int) ([]*Template, error) {
	return spread(ctx, count, func(i int) (*Template, error) {
		random := rand.New(rand.NewPCG(g.seed^0x4e3a5c, uint64(g.turns)<<32|uint64(i)))
		for range triesPerRow {
			if len(best) == 0 {
				break
			}
			one, other := best[random.IntN(len(best))], best[random.IntN(len(best))]
			if t := g.template.without(one.smiles, other.smiles, random); t != nil {
				return t, nil
			}
		}
		return g.template, nil
	})
}

// without joins two fragments and takes one piece of the molecule out; nil when
// that is not possible or a given fragment goes with it.
func (t *Template) without(one, other string, random *rand.Rand) *Template {
	joined, err := chem.EncodeSAFE(one+"."+other, chem.EncodeOptions{Slicer: chem.Whole, Brackets: true})
	if err != nil || strings.Count(joined, "<") != 2 {
		return nil
	}
	whole, err := chem.DecodeSAFE(attachment.ReplaceAllString(joined, "<1>"), chem.DecodeOptions{Strict: true})
	if err != nil {
		return nil
	}
	safe, err := chem.EncodeSAFE(whole, chem.EncodeOptions{Slicer: chem.SingleBonds, Brackets: true})
	if err != nil {
		return nil
	}
	pieces := strings.Split(safe, ".")
	if len(pieces) < 2 {
		return nil
	}
	out := random.IntN(len(pieces))
	rest, err := chem.DecodeSAFE(strings.Join(slices.Delete(pieces, out, out+1), "."), chem.DecodeOptions{KeepOpen: true})
	if err != nil || !t.in(rest) {
		return nil
	}
	return &Template{Given: strings.Split(rest, "."), Masks: []Mask{{Least: remaskedLeast, Most: remaskedMost}}}
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
