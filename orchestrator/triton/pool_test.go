package triton

import (
	"fmt"
	"slices"
	"testing"
)

// Sticky calls to a model go to the same replica, whatever the order of addresses from DNS. Those to many models are
// spread.
func TestStickyPick(t *testing.T) {
	const models = 400
	replicas := make([]*Replica, 4)
	for i := range replicas {
		replicas[i] = &Replica{address: fmt.Sprintf("10.0.0.%d:8001", i)}
	}
	shares := map[*Replica]int{}
	for i := range models {
		spec := callSpec{model: fmt.Sprintf("model%d", i), sticky: true}
		p := &pool{}
		p.replicas.Store(&replicas)
		first := p.pick(spec, nil)
		reversed := slices.Clone(replicas)
		slices.Reverse(reversed)
		p.replicas.Store(&reversed)
		if p.pick(spec, nil) != first {
			t.Fatalf("%s: the replica depends on the order of addresses", spec.model)
		}
		shares[first]++
	}
	for r, share := range shares {
		if share < models/8 || share > models/2 {
			t.Errorf("%s gets the calls to %d of %d models", r.address, share, models)
		}
	}
}
