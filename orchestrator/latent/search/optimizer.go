package search

import (
	"context"
	"math"

	"retort/orchestrator/cmaes"
)

// The constants of this package were tuned on the starts of qed_opt_tune and plogp_opt_tune, but for two:
// maxOversampling was raised once after a look at qed_opt_dev, and fillShare was chosen on zinc250k_valid. What is
// published was measured on the dev files: model_repository/latent_encoder/EVALUATION.md.
const (
	// firstStepSize is the step size of CMA-ES at the start, in standard deviations of the training molecules.
	firstStepSize = 1.0
	// cmaShare is the share of a generation's points that CMA-ES gives; the rest is offspring.
	cmaShare = 0.1
	// maxOversampling is how many times particles a generation decodes at most, to make up for points that gave no new
	// text in earlier generations.
	maxOversampling = 6
	// patience is how many generations without a fitter molecule CMA-ES gets before it restarts.
	patience = 8
	// eliteSize is how many of the best molecules a restart chooses from.
	eliteSize = 8
)

// optimizer is the state of a guided search.
type optimizer struct {
	Search
	evaluator  *evaluator
	hallOfFame hallOfFame
	population *population
	origin     parent // the seed

	run     *cmaes.Optimizer // the present run of CMA-ES
	fittest float64          // fitness of the best molecule that this run was given
	idle    int              // generations since that rose
}

// Optimize is the guided search. It evaluates at most Particles texts for each of its Iterations, the seed included,
// and returns at most Molecules molecules, best first, distinct, all with the least similarity and none of them the
// seed.
func (s Search) Optimize(ctx context.Context) ([]*Molecule, error) {
	s.Model = remote{s.Model}
	return compute(ctx, s.optimize)
}

func (s Search) optimize(ctx context.Context) ([]*Molecule, error) {
	o, err := s.optimizer(ctx)
	if err != nil {
		return nil, err
	}
	for iteration := 1; iteration <= s.Iterations; iteration++ {
		if o.fills(iteration) {
			err = o.fill(ctx, iteration)
		} else {
			err = o.generation(ctx, iteration)
		}
		if err == nil {
			err = s.watch(ctx, iteration, o.evaluator.evaluations, o.hallOfFame.top())
		}
		if err != nil {
			return nil, err
		}
	}
	return o.hallOfFame.best[:min(len(o.hallOfFame.best), s.Molecules)], nil
}

// optimizer scores the seed, and makes it the first parent and the first mean of CMA-ES.
func (s Search) optimizer(ctx context.Context) (*optimizer, error) {
	o := &optimizer{Search: s, evaluator: newEvaluator(s.Goal, &s.Seed)}
	o.hallOfFame = hallOfFame{goal: &o.Goal, size: max(s.Molecules, eliteSize)}
	scored, _, err := o.evaluator.evaluate(ctx, []string{s.Seed.SMILES})
	if err != nil {
		return nil, err
	}
	o.origin = parent{
		smiles: s.Seed.SMILES, fitness: math.Inf(-1), fingerprint: s.Seed.Fingerprint, tokens: s.Seed.Tokens, hidden: s.Seed.Hidden,
	}
	if scored[0] != nil {
		o.origin.fitness = o.Goal.fitness(scored[0])
	}
	o.population = newPopulation(s.Random, o.origin)
	return o, o.start(o.origin.hidden, firstStepSize)
}

// start begins a run of CMA-ES at a hidden state. At the size of a latent space the full covariance would learn nothing
// in so few generations, so it is the separable one. Decoding is a step function, so equal values say nothing about the
// end of a run: the criteria that look for them are off.
func (o *optimizer) start(hidden []float32, stepSize float64) (err error) {
	o.fittest = math.Inf(-1)
	o.idle = 0
	size := max(2, int(cmaShare*float64(o.Particles)))
	o.run, err = cmaes.New(o.Model.Space().whiten(hidden), stepSize, cmaes.Separable(), cmaes.Population(size),
		cmaes.Seed(o.Random.Uint64()), cmaes.StopAt(cmaes.Criteria{Flat: -1, Fun: -1, FunHistory: -1, Stagnation: -1, Iterations: -1}))
	return err
}

// generation is one iteration: points of CMA-ES and offspring are decoded and evaluated, and the search learns from
// them.
func (o *optimizer) generation(ctx context.Context, iteration int) error {
	asked := o.run.Ask()
	children := o.population.plan(o.due(iteration, len(asked)), o.Model.TextTokens())
	outcome, err := o.decode(ctx, asked, children)
	if err != nil {
		return err
	}
	o.idle++
	if err := o.update(ctx, outcome, len(asked), children); err != nil {
		return err
	}
	if o.tell(asked, outcome.molecules[:len(asked)]) || o.idle >= patience {
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

// decode decodes and evaluates the points of CMA-ES and the children, in slices that bound the memory.
func (o *optimizer) decode(ctx context.Context, asked [][]float64, children []offspring) (all outcome, err error) {
	points := make([]Point, len(asked), pointsAtOnce)
	for i, x := range asked {
		points[i].Hidden = o.Model.Space().colour(x)
	}
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
	return all, nil
}

// evaluate decodes points in one batch, evaluates their texts, and takes what meets the constraint into the hall of
// fame.
func (o *optimizer) evaluate(ctx context.Context, points []Point) (molecules []*Molecule, fresh []bool, err error) {
	texts, err := o.Model.Decode(ctx, points)
	if err != nil {
		return nil, nil, err
	}
	molecules, fresh, err = o.evaluator.evaluate(ctx, texts)
	if err != nil {
		return nil, nil, err
	}
	for _, m := range molecules {
		if m != nil && o.Goal.met(m) && m.SMILES != o.Seed.SMILES {
			o.hallOfFame.add(m)
		}
	}
	return molecules, fresh, nil
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

// tell gives CMA-ES the values of its points, lower being better, and reports whether its run is over.
func (o *optimizer) tell(points [][]float64, molecules []*Molecule) (over bool) {
	values := make([]float64, len(molecules))
	for i, m := range molecules {
		values[i] = math.Inf(1)
		if m != nil {
			values[i] = -o.Goal.fitness(m)
		}
	}
	if err := o.run.Tell(points, values); err != nil {
		return true // a covariance beyond repair
	}
	_, over = o.run.Stop()
	return over
}
