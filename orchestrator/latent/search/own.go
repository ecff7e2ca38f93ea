package search

import "context"

const (
	// ownShare is the share of the evaluations of a search without seeds that goes to molecules of the model itself, which
	// are its first parents.
	ownShare = 0.05
	// ownTemperature is at which tokens of every other of them are drawn.
	ownTemperature = 1
)

// draws reports whether an iteration draws molecules of the model: until there are parents, and for the first share of
// a search without seeds.
func (o *optimizer) draws(iteration int) bool {
	if len(o.population.parents) == 0 {
		return true
	}
	return len(o.Seeds) == 0 && float64(iteration) <= ownShare*float64(o.Iterations)
}

// own decodes points that lie as the training molecules do, and makes parents of the best molecules.
func (o *optimizer) own(ctx context.Context, iteration int) error {
	for remaining := o.due(iteration, 0); remaining > 0; remaining -= pointsAtOnce {
		points := make([]Point, min(remaining, pointsAtOnce))
		for i := range points {
			x := make([]float64, o.Model.Space().Size())
			for k := range x {
				x[k] = o.Random.NormFloat64()
			}
			points[i].Hidden = o.Model.Space().colour(x)
			if i%2 == 1 {
				points[i].Temperature = ownTemperature
				points[i].Seed = o.Random.Int64()
			}
		}
		molecules, _, err := o.evaluate(ctx, points)
		if err != nil {
			return err
		}
		if err := o.population.admit(ctx, o.Model, molecules, o.Goal.fitness); err != nil {
			return err
		}
	}
	if len(o.population.parents) == 0 {
		return nil
	}
	return o.begin()
}
