package triton

import (
	"fmt"
	"slices"
	"testing"
)

// A steady question goes to the same replica whatever the order in which DNS gives the addresses; questions about many
// models are spread.
func TestSteadyPick(t *testing.T) {
	const models = 400
	replicas := make([]*Replica, 4)
	for i := range replicas {
		replicas[i] = &Replica{address: fmt.Sprintf("10.0.0.%d:8001", i)}
	}
	shares := map[*Replica]int{}
	for i := range models {
		q := callSpec{model: fmt.Sprintf("model%d", i), sticky: true}
		p := &pool{}
		p.replicas.Store(&replicas)
		first := p.pick(q, nil)
		turned := slices.Clone(replicas)
		slices.Reverse(turned)
		p.replicas.Store(&turned)
		if p.pick(q, nil) != first {
			t.Fatalf("%s: the order of the addresses decides", q.model)
		}
		shares[first]++
	}
	for r, share := range shares {
		if share < models/8 || share > models/2 {
			t.Errorf("%s is asked about %d of %d models", r.address, share, models)
		}
	}
}
