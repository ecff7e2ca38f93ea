package triton

import (
	"fmt"
	"slices"
	"testing"
)

// Of many replicas each look lists some, and all have had their turn within a few looks; one of which nothing is known is
// listed at once.
func TestDueReplicas(t *testing.T) {
	for count, want := range map[int]int{1: 1, fewestListed: fewestListed, 40: fewestListed, 100: 25} {
		replicas := make([]*replica, count)
		for i := range replicas {
			replicas[i] = &replica{address: fmt.Sprint(i)}
		}
		var now int64
		listAll := func(due []*replica) {
			for _, r := range due {
				now++
				r.listedAt.Store(now)
				r.index.Store(&[]Entry{})
			}
		}
		due, rest := dueReplicas(replicas)
		if len(due) != count || len(rest) != 0 {
			t.Errorf("%d replicas of which nothing is known: %d are due", count, len(due))
		}
		listAll(due)
		turns := map[*replica]bool{}
		for range listedWithin {
			due, rest := dueReplicas(replicas)
			if len(due) != want || len(rest) != count-want {
				t.Errorf("%d replicas: %d are due, want %d", count, len(due), want)
			}
			listAll(due)
			for _, r := range due {
				turns[r] = true
			}
		}
		if count <= listedWithin*want && len(turns) != count {
			t.Errorf("%d replicas: %d had their turn within %d looks", count, len(turns), listedWithin)
		}
		replicas[count-1].index.Store(nil)
		if due, _ := dueReplicas(replicas); !slices.Contains(due, replicas[count-1]) {
			t.Errorf("%d replicas: the one that has failed is not due", count)
		}
	}
}

// A steady question goes to the same replica whatever the order in which DNS gives the addresses; questions about many
// models are spread.
func TestSteadyPick(t *testing.T) {
	const models = 400
	replicas := make([]*replica, 4)
	for i := range replicas {
		replicas[i] = &replica{address: fmt.Sprintf("10.0.0.%d:8001", i)}
	}
	shares := map[*replica]int{}
	for i := range models {
		q := question{model: fmt.Sprintf("model%d", i), steady: true}
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
