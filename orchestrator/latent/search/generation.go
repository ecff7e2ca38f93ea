package search

import (
	"context"
	"math"
	"slices"

	"retort/chem"
)

const (
	// maxOversampling bounds the points that a generation decodes, in multiples of Particles. A generation decodes more
	// than Particles to make up for points of earlier generations that gave no fresh text.
	maxOversampling = 6
	// editsPerChild is the number of edits from which a child gets the first candidate.
	editsPerChild = 3
	// predictedEditsPerChild is the number of edits from which a surrogate chooses.
	predictedEditsPerChild = 8
)

// runGeneration is one iteration: it decodes and scores points of CMA-ES and offspring, and learns from them.
func (o *optimizer) runGeneration(ctx context.Context, iteration int) error {
	cmaPoints := o.run.Ask()
	count := o.offspringCount(iteration, len(cmaPoints))
	children, err := o.chooseEdits(ctx, o.population.plan(count, o.Model.TextTokens()))
	if err != nil {
		return err
	}
	outcome, err := o.evaluate(ctx, cmaPoints, children)
	if err != nil {
		return err
	}
	o.stagnation++
	if err := o.updatePopulation(ctx, outcome, len(cmaPoints), children); err != nil {
		return err
	}
	if err := o.tell(outcome.molecules[:len(cmaPoints)]); err != nil {
		return err
	}
	if o.run.ShouldStop() || o.stagnation >= patience {
		return o.restart(ctx)
	}
	return nil
}

// offspringCount returns the number of offspring of an iteration, in addition to the points of CMA-ES. If all of their
// texts are fresh, the search has made Particles evaluations per iteration at its end.
func (o *optimizer) offspringCount(iteration, cmaPoints int) int {
	evaluations := iteration*o.Particles - o.evaluator.evaluations
	return max(0, min(evaluations, maxOversampling*o.Particles)-cmaPoints)
}

// chooseEdits chooses the molecules of the children whose operators edit graphs, and puts the children that are not
// decoded last. It chooses before anything is evaluated, since the similarity of an edit to the seed is known. A child
// without a candidate is dropped and counts against its operator like a repeated text. The next generation makes up for
// it.
func (o *optimizer) chooseEdits(ctx context.Context, children []offspring) ([]offspring, error) {
	each := editsPerChild
	if o.evaluator.surrogate.ready() {
		each = predictedEditsPerChild
		o.evaluator.surrogate.fit()
	}
	var parents []chem.Parents
	for _, child := range children {
		if source := operators[child.operator].source; source.editsGraph() {
			parents = append(parents, o.parentsOfEdits(source, child.parent, each))
		}
	}
	edits, err := o.editor.edit(ctx, parents)
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	var decoded, direct []offspring
	for _, child := range children {
		operator := &operators[child.operator]
		if operator.editsGraph() {
			chosen := o.mostPromising(edits[0], taken)
			edits = edits[1:]
			if chosen == nil {
				o.population.selection.trials[child.operator] += repeatedTrial
				continue
			}
			taken[chosen.smiles] = true
			if operator.isDirect() {
				child.smiles = chosen.smiles
				direct = append(direct, child)
				continue
			}
			if child.tokens, err = o.Model.Tokens(chosen.smiles); err != nil {
				return nil, err
			}
		}
		decoded = append(decoded, child)
	}
	return append(decoded, direct...), nil
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

// outcome has a row for each point of a generation: first the points of CMA-ES, then the offspring.
type outcome struct {
	molecules []*Molecule // nil for a text that is not a molecule
	fresh     []bool      // whether the text is fresh
}

func (o *outcome) add(molecules []*Molecule, fresh []bool) {
	o.molecules = append(o.molecules, molecules...)
	o.fresh = append(o.fresh, fresh...)
}

// evaluate decodes the points of CMA-ES and the children, in batches that bound the memory, and scores them. Children
// that are not decoded come last.
func (o *optimizer) evaluate(
	ctx context.Context, cmaPoints [][]float64, children []offspring,
) (all outcome, err error) {
	points := make([]Point, len(cmaPoints), pointsAtOnce)
	for i, x := range cmaPoints {
		points[i].Hidden = o.Model.Space().colour(x)
	}
	firstDirect := slices.IndexFunc(children, func(c offspring) bool { return c.smiles != "" })
	if firstDirect < 0 {
		firstDirect = len(children)
	}
	children, direct := children[:firstDirect], children[firstDirect:]
	for len(points) > 0 || len(children) > 0 {
		count := min(len(children), max(0, pointsAtOnce-len(points)))
		childPoints, err := o.population.points(ctx, children[:count])
		if err != nil {
			return all, err
		}
		molecules, fresh, err := o.decodeAndScore(ctx, append(points, childPoints...))
		if err != nil {
			return all, err
		}
		all.add(molecules, fresh)
		children = children[count:]
		points = points[:0]
	}
	texts := make([]string, len(direct))
	for i, child := range direct {
		texts[i] = child.smiles
	}
	molecules, fresh, err := o.scoreTexts(ctx, texts)
	all.add(molecules, fresh)
	return all, err
}

// decodeAndScore decodes points in one batch and scores their texts.
func (o *optimizer) decodeAndScore(
	ctx context.Context, points []Point,
) (molecules []*Molecule, fresh []bool, err error) {
	texts, err := o.Model.Decode(ctx, points)
	if err != nil {
		return nil, nil, err
	}
	return o.scoreTexts(ctx, texts)
}

// scoreTexts scores texts, and adds the molecules that meet the constraint to the hall of fame.
func (o *optimizer) scoreTexts(ctx context.Context, texts []string) (molecules []*Molecule, fresh []bool, err error) {
	molecules, fresh, err = o.evaluator.evaluate(ctx, texts)
	for _, m := range molecules {
		if m != nil && o.Goal.isSimilarEnough(m) && !o.excluded[m.SMILES] {
			o.hallOfFame.add(m)
		}
	}
	return molecules, fresh, err
}

// updatePopulation credits the operators and admits new parents. If a parent is fitter than all that were injected into
// this run of CMA-ES, it is injected.
func (o *optimizer) updatePopulation(ctx context.Context, r outcome, cmaPoints int, children []offspring) error {
	o.population.credit(children, r.molecules[cmaPoints:], r.fresh[cmaPoints:])
	if err := o.population.admit(ctx, r.molecules); err != nil {
		return err
	}
	fittest := o.population.parents[0]
	if fittest.fitness <= o.runBest {
		return nil
	}
	o.runBest = fittest.fitness
	o.stagnation = 0
	return o.run.Inject(o.Model.Space().whiten(fittest.hidden))
}

// tell gives CMA-ES the values of its points, lower being better.
func (o *optimizer) tell(molecules []*Molecule) error {
	values := make([]float64, len(molecules))
	for i, m := range molecules {
		values[i] = math.Inf(1)
		if m != nil {
			values[i] = -o.Goal.fitness(m)
		}
	}
	return o.run.Tell(values)
}
