package search

import (
	"cmp"
	"context"
	"math"
	"slices"

	"retort/chem/cores"
	"retort/orchestrator/cmaes"
)

// The constants of this package were tuned on the starts of qed_opt_tune and plogp_opt_tune, except maxOversampling,
// which was raised once after a look at qed_opt_dev. The published figures were measured on the dev files:
// model_repository/latent_encoder/EVALUATION.md.
const (
	// firstStepSize is the step size of CMA-ES at the start, in standard deviations of the training molecules.
	firstStepSize = 1.0
	// cmaShare is the share of a generation's points that CMA-ES draws; the others are offspring.
	cmaShare = 0.1
	// patience is the number of generations without a fitter molecule after which CMA-ES restarts.
	patience = 8
	// eliteSize is the number of best molecules that a restart chooses from.
	eliteSize = 8
)

// A search without seeds samples its first parents from the model: it decodes points around the mean of the space, far
// from any molecule, where the decoder writes typical molecules.
const (
	// firstParentsShare is the share of the iterations that sample first parents.
	firstParentsShare = 0.05
	// firstParentsRadius is the standard deviation per coordinate of their points, in units of the space's radius.
	firstParentsRadius = 2
	// firstParentsTemperature is the temperature at which every other of them is decoded.
	firstParentsTemperature = 1
)

// optimizer is the state of a guided search.
type optimizer struct {
	Search
	evaluator  *evaluator
	hallOfFame hallOfFame
	population *population
	origin     parent          // the fittest of the first parents
	excluded   map[string]bool // SMILES of seeds that may not be results
	editor     editor
	effort     effort
	filler     filler

	run        *cmaes.Optimizer // the present run of CMA-ES
	runBest    float64          // highest fitness injected into the run
	stagnation int              // generations since runBest rose
}

// Optimize is the guided search. It evaluates at most Particles texts per iteration, the seeds included. If it has
// found fewer than Molecules molecules by then, it evaluates at most two more texts for each that is missing. It
// returns at most Molecules molecules, all with the least similarity and, unless KeepSeeds is set, none of them a seed.
func (s Search) Optimize(ctx context.Context) ([]*Molecule, error) {
	s.Model = yieldingModel{s.Model}
	return cores.Run(ctx, s.optimize)
}

func (s Search) optimize(ctx context.Context) ([]*Molecule, error) {
	o := newOptimizer(s)
	defer o.editor.close()
	if err := o.start(ctx); err != nil {
		return o.results(), err
	}
	for iteration := 1; iteration <= s.Iterations; iteration++ {
		var err error
		switch {
		case o.shouldSampleFirstParents(iteration):
			err = o.sampleFirstParents(ctx, o.offspringCount(iteration, 0))
		case o.shouldFill(iteration):
			err = o.fill(ctx, o.offspringCount(iteration, 0))
		default:
			err = o.runGeneration(ctx, iteration)
		}
		if err == nil {
			err = s.report(ctx, iteration, o.evaluator.evaluations, o.results())
		}
		if err != nil {
			return o.results(), err
		}
	}
	err := o.complete(ctx)
	return o.results(), err
}

func newOptimizer(s Search) *optimizer {
	o := &optimizer{
		Search:     s,
		evaluator:  newEvaluator(s.Goal, s.Seeds, s.OnScored),
		hallOfFame: hallOfFame{goal: &s.Goal, size: max(s.Molecules, eliteSize)},
		population: &population{
			model:     s.Model,
			fitness:   s.Goal.fitness,
			random:    s.Random,
			size:      s.populationSize(),
			selection: selection{random: s.Random, moleculesOnly: len(s.Model.TextTokens()) == 0},
		},
		excluded: map[string]bool{},
		editor:   editor{model: s.Model, seeds: s.Seeds},
		filler:   filler{edited: map[string]bool{}},
	}
	o.effort = s.effort()
	o.evaluator.surrogate = &surrogate{size: o.effort.examples}
	return o
}

// results returns the results so far.
func (o *optimizer) results() []*Molecule {
	return o.hallOfFame.best[:min(len(o.hallOfFame.best), o.Molecules)]
}

// start scores the known molecules, the seeds and the warm starts, makes them the first parents, and starts CMA-ES at
// the fittest.
func (o *optimizer) start(ctx context.Context) error {
	known, err := o.scoreKnown(ctx)
	if err != nil {
		return err
	}
	if len(o.Seeds) > 0 {
		if err := o.addSeeds(ctx); err != nil {
			return err
		}
	}
	molecules, _, err := o.scoreTexts(ctx, o.WarmStarts)
	if molecules = append(known, molecules...); err == nil && len(molecules) > 0 {
		err = o.population.admit(ctx, molecules, o.evaluator.recent)
	}
	if err != nil || len(o.population.parents) == 0 {
		return err
	}
	return o.startAtBest()
}

// knownPerParent is the number of known molecules per place in the population that may become parents: each is
// encoded, and most resemble a fitter one.
const knownPerParent = 8

// scoreKnown scores the known molecules and returns the fittest of them. A molecule that is excluded because it is a
// seed is none of its results.
func (o *optimizer) scoreKnown(ctx context.Context) ([]*Molecule, error) {
	for _, seed := range o.Seeds {
		o.excluded[seed.SMILES] = !o.KeepSeeds
	}
	o.evaluator.onScored = nil
	molecules, _, err := o.scoreTexts(ctx, o.Known)
	o.evaluator.onScored = o.OnScored
	o.evaluator.lateScores = o.LateScores
	o.evaluator.evaluations = 0
	molecules = slices.DeleteFunc(molecules, func(m *Molecule) bool { return m == nil })
	slices.SortStableFunc(molecules, func(a, b *Molecule) int {
		return cmp.Compare(o.Goal.fitness(b), o.Goal.fitness(a))
	})
	return molecules[:min(len(molecules), knownPerParent*o.population.size)], err
}

// addSeeds scores the seeds and makes them parents, whether they have a score or not. With KeepSeeds they are results.
func (o *optimizer) addSeeds(ctx context.Context) error {
	texts := make([]string, len(o.Seeds))
	for i, seed := range o.Seeds {
		texts[i] = seed.SMILES
	}
	scored, _, err := o.scoreTexts(ctx, texts)
	if err != nil {
		return err
	}
	for i, seed := range o.Seeds {
		p := parent{
			smiles:      seed.SMILES,
			fitness:     math.Inf(-1),
			fingerprint: seed.Fingerprint,
			tokens:      seed.Tokens,
			hidden:      seed.Hidden,
		}
		if scored[i] != nil {
			p.fitness = o.Goal.fitness(scored[i])
		}
		o.population.parents = append(o.population.parents, p)
	}
	o.population.trim()
	return nil
}

// shouldSampleFirstParents reports whether an iteration samples first parents: while there are no parents, and for the
// first share of a search without seeds.
func (o *optimizer) shouldSampleFirstParents(iteration int) bool {
	if len(o.population.parents) == 0 {
		return true
	}
	return len(o.Seeds) == 0 && float64(iteration) <= firstParentsShare*float64(o.Iterations)
}

// sampleFirstParents decodes points around the mean of the space, makes parents of the best molecules, and starts
// CMA-ES at the fittest.
func (o *optimizer) sampleFirstParents(ctx context.Context, count int) error {
	space := o.Model.Space()
	mean := space.colour(make([]float64, space.Size()))
	for remaining := count; remaining > 0; remaining -= pointsAtOnce {
		points := make([]Point, min(remaining, pointsAtOnce))
		for i := range points {
			noise := make([]float64, len(mean))
			for k := range noise {
				noise[k] = o.Random.NormFloat64()
			}
			points[i].Hidden = space.Near(mean, firstParentsRadius, noise)
			if i%2 == 1 {
				points[i].Temperature = firstParentsTemperature
				points[i].Seed = o.Random.Int64()
			}
		}
		molecules, _, err := o.decodeAndScore(ctx, points)
		if err != nil {
			return err
		}
		if err := o.population.admit(ctx, molecules, o.evaluator.recent); err != nil {
			return err
		}
	}
	if len(o.population.parents) == 0 {
		return nil
	}
	return o.startAtBest()
}

// startAtBest makes the fittest parent the origin of the search and the first mean of CMA-ES.
func (o *optimizer) startAtBest() error {
	o.origin = o.population.parents[0]
	return o.startRun(o.origin.hidden, firstStepSize)
}

// startRun starts a run of CMA-ES at a hidden state.
func (o *optimizer) startRun(hidden []float32, stepSize float64) (err error) {
	o.runBest = math.Inf(-1)
	o.stagnation = 0
	lambda := max(2, int(cmaShare*float64(o.Particles)))
	o.run, err = cmaes.New(o.Model.Space().Whiten(hidden), stepSize, lambda, o.Random.Uint64())
	return err
}

// restart starts a run of CMA-ES at one of the best molecules, with a step size of half to one and a half times the
// first.
func (o *optimizer) restart(ctx context.Context) error {
	hidden, err := o.drawElite(ctx)
	if err != nil {
		return err
	}
	return o.startRun(hidden, firstStepSize*(0.5+o.Random.Float64()))
}

// drawElite returns the hidden state of one of the best molecules, encoded again as in [population.admit]. While there
// is none, it returns the hidden state of the origin.
func (o *optimizer) drawElite(ctx context.Context) ([]float32, error) {
	size := min(len(o.hallOfFame.best), eliteSize)
	if size == 0 {
		return o.origin.hidden, nil
	}
	elite := o.hallOfFame.best[o.Random.IntN(size)]
	tokens, err := o.Model.Tokens(elite.SMILES)
	if err != nil { // only the canonical SMILES has a token that the model does not know
		return o.origin.hidden, nil
	}
	hiddens, err := o.Model.Encode(ctx, [][]int32{tokens})
	if err != nil {
		return nil, err
	}
	return hiddens[0], nil
}
