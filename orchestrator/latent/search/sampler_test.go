package search

import "testing"

// A ray goes farther while it finds the seed, then bisects the radius between the seed and the nearest misfit.
func TestARayBisects(t *testing.T) {
	r := newRay(0.1, 8, newRandom())
	for i, step := range []struct {
		take func()
		want float64
	}{
		{r.farther, firstStep},
		{r.farther, 1.5 * firstStep},
		{r.nearer, 1.25 * firstStep},
		{r.farther, 1.375 * firstStep},
	} {
		if step.take(); r.radius < step.want-1e-9 || r.radius > step.want+1e-9 || r.done {
			t.Errorf("step %d: ray %+v, want the radius %v", i, r, step.want)
		}
	}
	if r.nearer(); !r.done {
		t.Errorf("the ray is not done after %d steps", maxSteps+1)
	}
}

func TestMinSimilarityOfARadius(t *testing.T) {
	for radius, want := range map[float64]float64{0: 0.85, 0.7: 0.57, 1: 0.45, 2: 0.05} {
		if got := minSimilarity(radius); got < want-1e-9 || got > want+1e-9 {
			t.Errorf("radius %v: %v, want %v", radius, got, want)
		}
	}
}
