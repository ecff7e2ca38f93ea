package search

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"retort/chem"
)

const (
	// minParents is the size of the population of a short search.
	minParents = 24
	// maxParents is that of a long one.
	maxParents = 120
	// evaluationsPerParent is how many evaluations a search has for each of its parents.
	evaluationsPerParent = 80
	// maxResemblance is the Tanimoto similarity above which the less fit of two molecules is no parent: otherwise all
	// parents would soon be variants of one.
	maxResemblance = 0.8
)

// parent is a molecule that offspring is made from.
type parent struct {
	smiles      string
	fitness     float64
	fingerprint chem.Fingerprint
	tokens      []int32
	hidden      []float32
}

// population holds the parents, fittest first, and what the search has learnt about the operators.
type population struct {
	random    *rand.Rand
	size      int      // parents at most
	parents   []parent // none until a molecule has been found
	selection selection
}

func newPopulation(random *rand.Rand, parents ...parent) *population {
	return &population{random: random, size: minParents, parents: parents, selection: selection{random: random}}
}

// populationSize is the size of the population: the longer a search, the later it may settle on a kind of molecule. One with a
// single seed stays near it anyway.
func (s *Search) populationSize() int {
	if len(s.Seeds) == 1 {
		return minParents
	}
	return min(max(minParents, s.Particles*s.Iterations/evaluationsPerParent), maxParents)
}

// draw picks a parent, the fitter ones more often: the rank has a density in proportion to 1 / root of the rank.
func (p *population) draw() *parent {
	u := p.random.Float64()
	return &p.parents[int(u*u*float64(len(p.parents)))]
}

// credit credits the operators with what became of the children: their molecules, and whether no earlier point gave the
// same text.
func (p *population) credit(children []offspring, molecules []*Molecule, fresh []bool, fitness func(*Molecule) float64) {
	p.selection.decay()
	for i, child := range children {
		if !fresh[i] {
			p.selection.trials[child.operator] += repeatedTrial
			continue
		}
		p.selection.trials[child.operator]++
		if molecules[i] == nil {
			continue
		}
		switch f := fitness(molecules[i]); {
		case f > child.parent.fitness:
			p.selection.rewards[child.operator]++
		case p.joins(f):
			p.selection.rewards[child.operator] += newParentReward
		}
	}
}

// joins reports whether a molecule of this fitness would be among the parents.
func (p *population) joins(fitness float64) bool {
	return len(p.parents) < p.size || fitness > p.parents[len(p.parents)-1].fitness
}

// admit makes parents of those molecules that are fit enough. It encodes them anew: the code of a molecule lies deeper
// in the region that decodes to it than the point it was found at.
func (p *population) admit(ctx context.Context, model Model, molecules []*Molecule, fitness func(*Molecule) float64) error {
	candidates, err := fingerprinted(ctx, p.candidates(model, molecules, fitness))
	if err != nil || len(candidates) == 0 {
		return err
	}
	rows := make([][]int32, len(candidates))
	for i, c := range candidates {
		rows[i] = c.tokens
	}
	hiddens, err := model.Encode(ctx, rows)
	if err != nil {
		return err
	}
	for i := range candidates {
		candidates[i].hidden = hiddens[i]
	}
	p.parents = append(p.parents, candidates...)
	p.trim()
	return nil
}

// trim puts the fittest parents first, and keeps those for which there is room.
func (p *population) trim() {
	slices.SortStableFunc(p.parents, func(a, b parent) int { return cmp.Compare(b.fitness, a.fitness) })
	p.parents = p.distinct()
}

// candidates are the molecules that are fit to join the parents and are none yet. A molecule whose canonical SMILES the
// model cannot read is left out, although the model wrote it in another spelling.
func (p *population) candidates(model Model, molecules []*Molecule, fitness func(*Molecule) float64) (found []parent) {
	known := map[string]bool{}
	for _, parent := range p.parents {
		known[parent.smiles] = true
	}
	for _, m := range molecules {
		if m == nil || known[m.SMILES] {
			continue
		}
		known[m.SMILES] = true
		f := fitness(m)
		if !p.joins(f) {
			continue
		}
		if tokens, err := model.Tokens(m.SMILES); err == nil {
			found = append(found, parent{smiles: m.SMILES, fitness: f, tokens: tokens})
		}
	}
	return found
}

// fingerprinted gives candidates their fingerprints. They are computed again here, since keeping those of all molecules
// that a search evaluates would double its memory.
func fingerprinted(ctx context.Context, candidates []parent) ([]parent, error) {
	smiles := make([]string, len(candidates))
	for i, c := range candidates {
		smiles[i] = c.smiles
	}
	results, err := chem.Evaluate(ctx, smiles, chem.Options{Facts: chem.FactFingerprint})
	if err != nil {
		return nil, err
	}
	kept := candidates[:0]
	for i, r := range results {
		if r.Err == nil {
			candidates[i].fingerprint = r.Molecule.Fingerprint()
			kept = append(kept, candidates[i])
		}
	}
	return kept, nil
}

// distinct is the parents without those that resemble a fitter one.
func (p *population) distinct() []parent {
	kept := make([]parent, 0, p.size)
	for _, one := range p.parents {
		resembles := func(k parent) bool { return k.fingerprint.Tanimoto(&one.fingerprint) > maxResemblance }
		if len(kept) < p.size && !slices.ContainsFunc(kept, resembles) {
			kept = append(kept, one)
		}
	}
	return kept
}
