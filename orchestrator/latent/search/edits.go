package search

import (
	"context"

	"retort/chem"
)

// effort is the work that a search spends on the choice of one edit. An edit takes about 0.3 ms of a core; a prediction
// takes a tenth of that with 1,000 examples.
type effort struct {
	edits    int // made of a molecule at a time
	rounds   int // of edits; each round after the first edits the most promising edit so far
	examples int // of the surrogate at most; fitting takes time in proportion to the square
}

const (
	// longSearch is the number of evaluations from which a search without a constraint on similarity chooses from more
	// edits. A shorter one would take longer in proportion than it gains.
	longSearch = 2000
	// costlyEdits bounds the edits of a search with costly scores, to some 20 s of a core. A search of few evaluations
	// has maxEditRounds.
	costlyEdits   = 60000
	maxEditRounds = 3
)

// effort returns the effort of a search.
func (s *Search) effort() effort {
	evaluations := s.Particles * s.Iterations
	switch {
	case s.CostlyScores:
		const edits = 10
		return effort{edits: edits, rounds: min(max(1, costlyEdits/edits/evaluations), maxEditRounds), examples: 1000}
	case s.Goal.MinSimilarity == 0 && evaluations >= longSearch:
		return effort{edits: 8, rounds: 1, examples: 1000}
	}
	return effort{edits: 3, rounds: 1, examples: 250}
}

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

// makeEdits returns the edits to choose from for each child, nil if its operator does not edit graphs.
func (o *optimizer) makeEdits(ctx context.Context, children []offspring) ([][]variant, error) {
	if o.evaluator.surrogate.ready() {
		o.evaluator.surrogate.fit()
	}
	var rows []int // of the children in edits
	var parents []chem.Parents
	for i, child := range children {
		if source := operators[child.operator].source; source.editsGraph() {
			rows = append(rows, i)
			parents = append(parents, o.parentsOfEdits(source, child.parent, o.effort.edits))
		}
	}
	variants, err := o.editAndPredict(ctx, parents)
	if err != nil {
		return nil, err
	}
	if o.evaluator.surrogate.ready() {
		for range o.effort.rounds - 1 {
			if err := o.editAgain(ctx, variants); err != nil {
				return nil, err
			}
		}
	}
	edits := make([][]variant, len(children))
	for k, row := range rows {
		edits[row] = variants[k]
	}
	return edits, nil
}

// editAgain adds edits of the most promising edit of each child. So a child may be several edits away from its parent,
// each of which the surrogate predicts to be better.
func (o *optimizer) editAgain(ctx context.Context, variants [][]variant) error {
	parents := make([]chem.Parents, len(variants))
	for i := range variants {
		if best := o.mostPromising(variants[i], nil); best != nil {
			parents[i] = chem.Parents{First: best.smiles, Count: o.effort.edits, Seed: o.Random.Uint64()}
		}
	}
	more, err := o.editAndPredict(ctx, parents)
	for i := range more {
		variants[i] = append(variants[i], more[i]...)
	}
	return err
}

// editAndPredict returns edits of each of the parents, with their predicted merits if the surrogate is ready.
func (o *optimizer) editAndPredict(ctx context.Context, parents []chem.Parents) ([][]variant, error) {
	variants, err := o.editor.edit(ctx, parents)
	if err != nil || !o.evaluator.surrogate.ready() {
		return variants, err
	}
	for _, edits := range variants {
		for i := range edits {
			features := featuresOf(edits[i].smiles, &edits[i].fingerprint)
			edits[i].predicted = o.evaluator.surrogate.predict(&features)
		}
	}
	return variants, nil
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

// mostPromising returns the candidate among the edits with the highest predicted merit, the first of equal ones, or nil
// if there is none. Taken edits belong to other children.
func (o *optimizer) mostPromising(edits []variant, taken map[string]bool) (best *variant) {
	for i := range edits {
		v := &edits[i]
		if taken[v.smiles] || !o.isCandidate(*v) {
			continue
		}
		if best == nil || v.predicted > best.predicted {
			best = v
		}
	}
	return best
}
