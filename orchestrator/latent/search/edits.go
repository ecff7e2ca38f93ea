package search

import (
	"context"
	"math"

	"retort/chem"
)

const (
	// editsPerChild is the number of edits from which a child gets the first candidate.
	editsPerChild = 3
	// predictedEditsPerChild is the number of edits from which a surrogate chooses.
	predictedEditsPerChild = 8
)

// chooseEdits chooses a molecule for each child whose operator edits graphs, before anything is evaluated: the
// similarity of an edit to the seed is known. A child without a candidate is dropped and counts against its operator
// like a repeated text. The next generation makes up for it.
func (o *optimizer) chooseEdits(ctx context.Context, children []offspring) (chosen []offspring, err error) {
	edits, err := o.makeEdits(ctx, children)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for i, child := range children {
		if operators[child.operator].editsGraph() {
			edit := o.mostPromising(edits[i], taken)
			if edit == nil {
				o.population.selection.trials[child.operator] += repeatedTrial
				continue
			}
			taken[edit.smiles] = true
			if err := o.applyEdit(&child, edit.smiles); err != nil {
				return nil, err
			}
		}
		chosen = append(chosen, child)
	}
	return chosen, nil
}

// makeEdits returns the edits to choose from for each child, nil if its operator does not edit graphs. If there is a
// surrogate to choose, it is fitted and there are more edits.
func (o *optimizer) makeEdits(ctx context.Context, children []offspring) ([][]variant, error) {
	each := editsPerChild
	if o.evaluator.surrogate.ready() {
		each = predictedEditsPerChild
		o.evaluator.surrogate.fit()
	}
	var rows []int // of the children in edits
	var parents []chem.Parents
	for i, child := range children {
		if source := operators[child.operator].source; source.editsGraph() {
			rows = append(rows, i)
			parents = append(parents, o.parentsOfEdits(source, child.parent, each))
		}
	}
	variants, err := o.editor.edit(ctx, parents)
	if err != nil {
		return nil, err
	}
	edits := make([][]variant, len(children))
	for k, row := range rows {
		edits[row] = variants[k]
	}
	return edits, nil
}

// applyEdit makes an edit the child itself if the child's operator is direct, else the text to encode.
func (o *optimizer) applyEdit(child *offspring, edit string) (err error) {
	if operators[child.operator].isDirect() {
		child.smiles = edit
		return nil
	}
	child.tokens, err = o.Model.Tokens(edit)
	return err
}

// parentsOfEdits returns the molecules that an operator edits: the first parent and, for a crossover, a second one. If
// a crossover draws the same molecule twice, the operator mutates it.
func (o *optimizer) parentsOfEdits(source source, first *parent, count int) chem.Parents {
	p := chem.Parents{First: first.smiles, Count: count, Seed: o.Random.Uint64()}
	if source == graphCrossover {
		if second := o.population.draw(); second.smiles != first.smiles {
			p.Second = second.smiles
		}
	}
	return p
}

// isCandidate reports whether a variant is similar enough and has not been evaluated.
func (o *optimizer) isCandidate(v variant) bool {
	return v.similarity >= o.Goal.MinSimilarity && !o.evaluator.knows(v.smiles)
}

// mostPromising returns the candidate among the edits for which the surrogate predicts the highest fitness, or the
// first candidate while the surrogate is not ready; nil if there is none. Taken edits belong to other children.
func (o *optimizer) mostPromising(edits []variant, taken map[string]bool) (best *variant) {
	highest := math.Inf(-1)
	for i := range edits {
		v := &edits[i]
		if taken[v.smiles] || !o.isCandidate(*v) {
			continue
		}
		if !o.evaluator.surrogate.ready() {
			return v
		}
		features := featuresOf(v.smiles, &v.fingerprint)
		if predicted := o.evaluator.surrogate.predict(&features); predicted > highest {
			highest = predicted
			best = v
		}
	}
	return best
}
