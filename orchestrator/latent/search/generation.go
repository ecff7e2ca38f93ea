package search

import (
	"context"
	"math"
	"slices"
)

// generation is one iteration: points of CMA-ES and offspring are decoded and evaluated, and the search learns from
// them.
func (o *optimizer) generation(ctx context.Context, iteration int) error {
	asked := o.run.Ask()
	children, err := o.breed(ctx, o.population.plan(o.due(iteration, len(asked)), o.Model.TextTokens()))
	if err != nil {
		return err
	}
	outcome, err := o.decode(ctx, asked, children)
	if err != nil {
		return err
	}
	o.idle++
	if err := o.update(ctx, outcome, len(asked), children); err != nil {
		return err
	}
	if err := o.tell(outcome.molecules[:len(asked)]); err != nil {
		return err
	}
	if o.run.ShouldStop() || o.idle >= patience {
		return o.restart(ctx)
	}
	return nil
}

// due is how many points an iteration has beside the asked ones of CMA-ES: as many as bring the evaluations so far to
// Particles an iteration, if every text is new.
func (o *optimizer) due(iteration, asked int) int {
	evaluations := iteration*o.Particles - o.evaluator.evaluations
	return max(0, min(evaluations, maxOversampling*o.Particles)-asked)
}

// outcome is what became of a generation's points: first those of CMA-ES, then its offspring.
type outcome struct {
	molecules []*Molecule // nil where a text is no molecule
	fresh     []bool      // whether no earlier point gave the same text
}

// decode decodes and evaluates the points of CMA-ES and the children, in slices that bound the memory. Children that are
// evaluated as they are come last.
func (o *optimizer) decode(ctx context.Context, asked [][]float64, children []offspring) (all outcome, err error) {
	points := make([]Point, len(asked), pointsAtOnce)
	for i, x := range asked {
		points[i].Hidden = o.Model.Space().colour(x)
	}
	decoded := slices.IndexFunc(children, func(c offspring) bool { return c.smiles != "" })
	if decoded < 0 {
		decoded = len(children)
	}
	children, direct := children[:decoded], children[decoded:]
	for len(points) > 0 || len(children) > 0 {
		count := min(len(children), max(0, pointsAtOnce-len(points)))
		born, err := o.population.points(ctx, o.Model, children[:count])
		if err != nil {
			return all, err
		}
		molecules, fresh, err := o.evaluate(ctx, append(points, born...))
		if err != nil {
			return all, err
		}
		all.molecules = append(all.molecules, molecules...)
		all.fresh = append(all.fresh, fresh...)
		children = children[count:]
		points = points[:0]
	}
	texts := make([]string, len(direct))
	for i, child := range direct {
		texts[i] = child.smiles
	}
	molecules, fresh, err := o.assess(ctx, texts)
	all.molecules = append(all.molecules, molecules...)
	all.fresh = append(all.fresh, fresh...)
	return all, err
}

// evaluate decodes points in one batch and assesses their texts.
func (o *optimizer) evaluate(ctx context.Context, points []Point) (molecules []*Molecule, fresh []bool, err error) {
	texts, err := o.Model.Decode(ctx, points)
	if err != nil {
		return nil, nil, err
	}
	return o.assess(ctx, texts)
}

// assess evaluates texts, and takes what meets the constraint into the hall of fame.
func (o *optimizer) assess(ctx context.Context, texts []string) (molecules []*Molecule, fresh []bool, err error) {
	molecules, fresh, err = o.evaluator.evaluate(ctx, texts)
	for _, m := range molecules {
		if m != nil && o.Goal.met(m) && !o.excluded[m.SMILES] {
			o.hallOfFame.add(m)
		}
	}
	return molecules, fresh, err
}

// update lets the population learn from a generation of asked points of CMA-ES and the children. A parent fitter than
// all that this run of CMA-ES was given is injected into it.
func (o *optimizer) update(ctx context.Context, r outcome, asked int, children []offspring) error {
	o.population.learn(children, r.molecules[asked:], r.fresh[asked:], o.Goal.fitness)
	if err := o.population.admit(ctx, o.Model, r.molecules, o.Goal.fitness); err != nil {
		return err
	}
	fittest := o.population.parents[0]
	if fittest.fitness <= o.fittest {
		return nil
	}
	o.fittest = fittest.fitness
	o.idle = 0
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
