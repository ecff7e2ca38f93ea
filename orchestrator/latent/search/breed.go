package search

import (
	"context"
	"math"

	"retort/chem"
)

const (
	// editsEach is how many edits are made for a child, of which it gets the first that is new and similar enough.
	editsEach = 3
	// predictedEach is how many are made where a surrogate says which is the most promising.
	predictedEach = 8
)

// breed makes the molecules of those children whose operators edit graphs, and puts the children that are evaluated as
// they are last. An edit is chosen before anything is evaluated, since its similarity to the seed is known. A child of
// whose edits none would be new and similar enough is left out, which counts against its operator as a text that is not
// new does: the next generation makes up for it.
func (o *optimizer) breed(ctx context.Context, children []offspring) ([]offspring, error) {
	each := editsEach
	if o.evaluator.surrogate.ready() {
		each = predictedEach
		o.evaluator.surrogate.fit()
	}
	var parents []chem.Parents
	for _, child := range children {
		if start := operators[child.operator].start; start.edits() {
			parents = append(parents, o.couple(start, child.parent, each))
		}
	}
	made, err := o.editor.make(ctx, parents)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	var decoded, direct []offspring
	for _, child := range children {
		by := &operators[child.operator]
		if by.edits() {
			chosen := o.promising(made[0], taken)
			if chosen < 0 {
				made = made[1:]
				o.population.selection.trials[child.operator] += repeatedTrial
				continue
			}
			child.smiles = made[0][chosen].smiles
			taken[child.smiles] = true
			made = made[1:]
		}
		if by.direct() {
			direct = append(direct, child)
			continue
		}
		if by.edits() {
			if child.text, err = o.Model.Tokens(child.smiles); err != nil {
				return nil, err
			}
			child.smiles = ""
		}
		decoded = append(decoded, child)
	}
	return append(decoded, direct...), nil
}

// couple is what an operator edits. A crossover of a molecule with itself would be a waste, so that where the second
// parent drawn is the first, it is edited.
func (o *optimizer) couple(start start, first *parent, count int) chem.Parents {
	p := chem.Parents{First: first.smiles, Count: count, Seed: o.Random.Uint64()}
	if start == graphCrossover {
		if second := o.population.draw(); second.smiles != first.smiles {
			p.Second = second.smiles
		}
	}
	return p
}

// wants reports whether a variant has not been evaluated and is similar enough.
func (o *optimizer) wants(v variant) bool {
	return v.similarity >= o.Goal.MinSimilarity && !o.evaluator.knows(v.smiles)
}

// promising is the index of the edit to evaluate: of those that are wanted and not taken the one of which the surrogate
// predicts the most, or while it is not ready the first; -1 for none.
func (o *optimizer) promising(variants []variant, taken map[string]bool) int {
	chosen := -1
	most := math.Inf(-1)
	for i := range variants {
		v := &variants[i]
		if taken[v.smiles] || !o.wants(*v) {
			continue
		}
		if !o.evaluator.surrogate.ready() {
			return i
		}
		features := featuresOf(v.smiles, &v.fingerprint)
		if predicted := o.evaluator.surrogate.predict(&features); predicted > most {
			most = predicted
			chosen = i
		}
	}
	return chosen
}
