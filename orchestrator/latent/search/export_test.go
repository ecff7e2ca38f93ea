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
