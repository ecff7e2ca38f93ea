package search

import "context"

const (
	// ownShare is the share of the evaluations of a search without seeds that goes to molecules of the model itself, which
	// are its first parents.
	ownShare = 0.05
	// ownTemperature is at which tokens of every other of them are drawn.
	ownTemperature = 1
	// ownRadius is the standard deviation per coordinate of the points of these molecules around the mean of the
	// space, in units of its radius: far from any molecule the decoder writes what molecules are like in general.
	ownRadius = 2
)

// draws reports whether an iteration draws molecules of the model: until there are parents, and for the first share of
// a search without seeds.
func (o *optimizer) draws(iteration int) bool {
	if len(o.population.parents) == 0 {
		return true
	}
	return len(o.Seeds) == 0 && float64(iteration) <= ownShare*float64(o.Iterations)
}

// own decodes points that are far from all molecules, and makes parents of the best molecules.
func (o *optimizer) own(ctx context.Context, iteration int) error {
	mean := o.Model.Space().colour(make([]float64, o.Model.Space().Size()))
	for remaining := o.due(iteration, 0); remaining > 0; remaining -= pointsAtOnce {
		points := make([]Point, min(remaining, pointsAtOnce))
		for i := range points {
			noise := make([]float64, len(mean))
			for k := range noise {
				noise[k] = o.Random.NormFloat64()
			}
			points[i].Hidden = o.Model.Space().near(mean, ownRadius, noise)
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
