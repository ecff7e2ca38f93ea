package search

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"retort/chem"
)

const (
	// minParents and maxParents are the sizes of the population of a short and a long search.
	minParents = 24
	maxParents = 120
	// evaluationsPerParent is the number of evaluations per parent of a search between the two.
	evaluationsPerParent = 80
	// maxResemblance is the Tanimoto similarity above which the less fit of two molecules is not a parent. Without it
	// all parents would soon be variants of one molecule.
	maxResemblance = 0.8
)

// parent is a molecule from which offspring are made.
type parent struct {
	smiles      string
	fitness     float64
	fingerprint chem.Fingerprint
	tokens      []int32
	hidden      []float32
}

// population holds the parents, fittest first, and the selection of operators.
type population struct {
	model     Model
	fitness   func(*Molecule) float64
	random    *rand.Rand
	size      int // parents at most
	parents   []parent
	selection selection
}

// populationSize returns the largest number of parents. The longer a search, the later it may settle on one kind of
// molecule. A search with a single seed stays near it anyway.
func (s *Search) populationSize() int {
	if len(s.Seeds) == 1 {
		return minParents
	}
	return min(max(minParents, s.Particles*s.Iterations/evaluationsPerParent), maxParents)
}

// draw returns a random parent, with a probability in proportion to 1/√rank.
func (p *population) draw() *parent {
	u := p.random.Float64()
	return &p.parents[int(u*u*float64(len(p.parents)))]
}

// credit updates the trials and rewards of the operators. molecules and fresh are the outcome of each child.
func (p *population) credit(children []offspring, molecules []*Molecule, fresh []bool) {
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
		switch fitness := p.fitness(molecules[i]); {
		case fitness > child.parent.fitness:
			p.selection.rewards[child.operator]++
		case p.hasRoom(fitness):
			p.selection.rewards[child.operator] += newParentReward
		}
	}
}

// hasRoom reports whether a molecule of this fitness can become a parent.
func (p *population) hasRoom(fitness float64) bool {
	return len(p.parents) < p.size || fitness > p.parents[len(p.parents)-1].fitness
}

// admit adds the molecules that are fit enough to the parents. It encodes them again, since the hidden state of a
// molecule lies deeper in the region that decodes to it than the point that it was found at. fingerprints are the known
// ones, by SMILES.
func (p *population) admit(
	ctx context.Context, molecules []*Molecule, fingerprints map[string]chem.Fingerprint,
) error {
	candidates, err := addFingerprints(ctx, p.candidates(molecules), fingerprints)
	if err != nil || len(candidates) == 0 {
		return err
	}
	rows := make([][]int32, len(candidates))
	for i, c := range candidates {
		rows[i] = c.tokens
	}
	hiddens, err := p.model.Encode(ctx, rows)
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

// rescore sets the fitness of the parents among molecules with a late score. A seed is a parent without a score.
func (p *population) rescore(late []*Molecule) {
	for _, m := range late {
		for i := range p.parents {
			if p.parents[i].smiles == m.SMILES {
				p.parents[i].fitness = p.fitness(m)
			}
		}
	}
	if len(late) > 0 {
		p.trim()
	}
}

// trim sorts the parents by fitness, and drops those that resemble a fitter one or exceed the size.
func (p *population) trim() {
	slices.SortStableFunc(p.parents, func(a, b parent) int { return cmp.Compare(b.fitness, a.fitness) })
	kept := make([]parent, 0, p.size)
	for _, candidate := range p.parents {
		resembles := func(k parent) bool { return k.fingerprint.Tanimoto(&candidate.fingerprint) > maxResemblance }
		if len(kept) < p.size && !slices.ContainsFunc(kept, resembles) {
			kept = append(kept, candidate)
		}
	}
	p.parents = kept
}

// candidates returns the molecules that are fit enough to become parents and are not parents yet. It leaves out
// molecules whose canonical SMILES the model cannot read, although it has decoded another spelling of them.
func (p *population) candidates(molecules []*Molecule) (found []parent) {
	known := map[string]bool{}
	for _, parent := range p.parents {
		known[parent.smiles] = true
	}
	for _, m := range molecules {
		if m == nil || known[m.SMILES] {
			continue
		}
		known[m.SMILES] = true
		fitness := p.fitness(m)
		if !p.hasRoom(fitness) {
			continue
		}
		if tokens, err := p.model.Tokens(m.SMILES); err == nil {
			found = append(found, parent{smiles: m.SMILES, fitness: fitness, tokens: tokens})
		}
	}
	return found
}

// addFingerprints sets the fingerprints of candidates. It computes those that are not known: keeping the fingerprints
// of all evaluated molecules would double the memory of a search.
func addFingerprints(
	ctx context.Context, candidates []parent, known map[string]chem.Fingerprint,
) ([]parent, error) {
	var unknown []string
	for _, c := range candidates {
		if _, ok := known[c.smiles]; !ok {
			unknown = append(unknown, c.smiles)
		}
	}
	results, err := chem.Evaluate(ctx, unknown, chem.FactFingerprint)
	if err != nil {
		return nil, err
	}
	kept := candidates[:0]
	for _, c := range candidates {
		if fingerprint, ok := known[c.smiles]; ok {
			c.fingerprint = fingerprint
			kept = append(kept, c)
			continue
		}
		computed := results[0]
		results = results[1:]
		if computed.Err == nil {
			c.fingerprint = computed.Molecule.Fingerprint()
			kept = append(kept, c)
		}
	}
	return kept, nil
}
