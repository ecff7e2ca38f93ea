package search

import (
	"context"
	"math"
	"slices"
)

// maxOversampling bounds the points that a generation decodes, in multiples of Particles. A generation decodes more
// than Particles to make up for points of earlier generations that gave no fresh text.
const maxOversampling = 6

// runGeneration is one iteration: it decodes and scores points of CMA-ES and offspring, and learns from them.
func (o *optimizer) runGeneration(ctx context.Context, iteration int) error {
	cmaPoints := o.run.Ask()
	count := o.offspringCount(iteration, len(cmaPoints))
	children, err := o.chooseEdits(ctx, o.population.plan(count, o.Model.TextTokens()))
	if err != nil {
		return err
	}
	decoded, direct := splitDirect(children)
	outcome, err := o.evaluate(ctx, cmaPoints, decoded, direct)
	if err != nil {
		return err
	}
	o.stagnation++
	if err := o.updatePopulation(ctx, outcome, len(cmaPoints), append(decoded, direct...)); err != nil {
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

// splitDirect returns the children to decode, and those whose molecules are known.
func splitDirect(children []offspring) (decoded, direct []offspring) {
	for _, child := range children {
		if child.smiles == "" {
			decoded = append(decoded, child)
		} else {
			direct = append(direct, child)
		}
	}
	return decoded, direct
}

// outcome has a row for each point of a generation: first the points of CMA-ES, then the decoded children, then the
// direct ones.
type outcome struct {
	molecules []*Molecule // nil for a text that is not a molecule
	fresh     []bool      // whether the text is fresh
}

// evaluate decodes the points of CMA-ES and the decoded children, in batches that bound the memory, and scores them
// and the direct children in one call of the objective, which may be a person.
func (o *optimizer) evaluate(
	ctx context.Context, cmaPoints [][]float64, decoded, direct []offspring,
) (all outcome, err error) {
	points := make([]Point, len(cmaPoints), pointsAtOnce)
	for i, x := range cmaPoints {
		points[i].Hidden = o.Model.Space().colour(x)
	}
	var texts []string
	for len(points) > 0 || len(decoded) > 0 {
		count := min(len(decoded), max(0, pointsAtOnce-len(points)))
		childPoints, err := o.population.points(ctx, decoded[:count])
		if err != nil {
			return all, err
		}
		batch, err := o.Model.Decode(ctx, append(points, childPoints...))
		if err != nil {
			return all, err
		}
		texts = append(texts, batch...)
		decoded = decoded[count:]
		points = points[:0]
	}
	for _, child := range direct {
		texts = append(texts, child.smiles)
	}
	all.molecules, all.fresh, err = o.scoreTexts(ctx, texts)
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

// scoreTexts scores texts, and adds the molecules that meet the constraints to the hall of fame, also those with a late
// score.
func (o *optimizer) scoreTexts(ctx context.Context, texts []string) (molecules []*Molecule, fresh []bool, err error) {
	molecules, fresh, err = o.evaluator.evaluate(ctx, texts)
	for _, m := range slices.Concat(molecules, o.evaluator.late) {
		if m != nil && o.Goal.accepts(m) && !o.excluded[m.SMILES] {
			o.hallOfFame.add(m)
		}
	}
	return molecules, fresh, err
}

// updatePopulation credits the operators and admits new parents, also those with a late score. If a parent is fitter
// than all that were injected into this run of CMA-ES, it is injected.
func (o *optimizer) updatePopulation(ctx context.Context, r outcome, cmaPoints int, children []offspring) error {
	o.population.credit(children, r.molecules[cmaPoints:], r.fresh[cmaPoints:])
	late := o.evaluator.takeLate()
	o.population.rescore(late)
	molecules := slices.Concat(r.molecules, late)
	if err := o.population.admit(ctx, molecules, o.evaluator.recent); err != nil {
		return err
	}
	fittest := o.population.parents[0]
	if fittest.fitness <= o.runBest {
		return nil
	}
	o.runBest = fittest.fitness
	o.stagnation = 0
	return o.run.Inject(o.Model.Space().Whiten(fittest.hidden))
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
