package search

import "context"

// OptimizeUncached is Optimize without the known texts of earlier iterations, for a benchmark in a space of few
// molecules.
func (s Search) OptimizeUncached(ctx context.Context) error {
	o := newOptimizer(s)
	defer o.editor.close()
	err := o.start(ctx)
	for iteration := 1; err == nil && iteration <= s.Iterations; iteration++ {
		clear(o.evaluator.known)
		err = o.runGeneration(ctx, iteration)
	}
	return err
}

// OptimizeParents is Optimize. It returns the fitness of the last parents by SMILES.
func (s Search) OptimizeParents(ctx context.Context) (map[string]float64, error) {
	o := newOptimizer(s)
	defer o.editor.close()
	err := o.start(ctx)
	for iteration := 1; err == nil && iteration <= s.Iterations; iteration++ {
		err = o.runGeneration(ctx, iteration)
	}
	parents := map[string]float64{}
	for _, p := range o.population.parents {
		parents[p.smiles] = p.fitness
	}
	return parents, err
}
