package chem

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
)

// withSlots runs a test with its own slots for batches.
func withSlots(t *testing.T, count int, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		before := slots
		defer func() { slots = before }()
		slots = make(chan struct{}, count)
		test(t)
	})
}

// A batch of few items waits for a slot if they may mean many molecules.
func TestFewParentsOfManyMoleculesWaitForASlot(t *testing.T) {
	for name, c := range map[string]struct {
		parents []Parents
		waits   bool
	}{
		"one of the most":           {[]Parents{{First: "CCO", Count: MaxOffspring}}, true},
		"one of more":               {[]Parents{{First: "CCO", Count: 1 << 40}}, true},
		"two of nine":               {[]Parents{{First: "CCO", Count: 9}, {First: "CCN", Count: 9}}, true},
		"one of sixteen":            {[]Parents{{First: "CCO", Count: 16}}, false},
		"two of seven, one of none": {[]Parents{{First: "CCO", Count: 7}, {First: "CCO", Count: -1}, {First: "CCN", Count: 7}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			withSlots(t, 1, func(t *testing.T) {
				slots <- struct{}{} // a long batch of another request
				ended := false
				go func() {
					if made, err := Offspring(t.Context(), c.parents); err != nil || len(made[0]) == 0 {
						t.Errorf("%v, %v", made, err)
					}
					ended = true
				}()
				synctest.Wait()
				if ended == c.waits {
					t.Errorf("ended while all slots were taken: %v", ended)
				}
				<-slots
				synctest.Wait()
				if !ended {
					t.Error("a free slot is not taken")
				}
			})
		})
	}
}

// Chunks are cut by weight: one holds several light items, or a heavy one alone.
func TestChunksAreCutByWeight(t *testing.T) {
	weights := []int{1, 1, 1, 1, 90, 1, 1, 200, 1, 1, 1, 1}
	var chunks [][2]int
	seen := make([]int, len(weights))
	err := Options{Workers: 1}.inChunks(t.Context(), len(weights), func(i int) int { return weights[i] }, func(from, to int) {
		chunks = append(chunks, [2]int{from, to})
		for i := from; i < to; i++ {
			seen[i]++
		}
	}, func(from, to int) { t.Errorf("%d to %d is skipped", from, to) })
	if err != nil {
		t.Fatal(err)
	}
	for i, times := range seen {
		if times != 1 {
			t.Errorf("item %d is worked on %d times", i, times)
		}
	}
	for _, c := range chunks {
		weight := 0
		for _, w := range weights[c[0]:c[1]] {
			weight += w
		}
		if c[1]-c[0] > 1 && weight > maxChunk {
			t.Errorf("a chunk of %d items has the weight %d", c[1]-c[0], weight)
		}
	}
}

// A panic is the error of its batch, which gives its slots back.
func TestAPanicOfABatchIsAnError(t *testing.T) {
	for _, count := range []int{1, fewTexts, 10 * maxChunk} {
		withSlots(t, 2, func(t *testing.T) {
			err := Options{}.inChunks(t.Context(), count, oneEach, func(from, _ int) {
				if from == 0 {
					panic("no such atom")
				}
			}, func(int, int) {})
			if err == nil || !strings.Contains(err.Error(), "no such atom") || !strings.Contains(err.Error(), "slots_test.go") {
				t.Errorf("%d items: %v", count, err)
			}
			if len(slots) > 0 {
				t.Errorf("%d items: %d slots are lost", count, len(slots))
			}
		})
	}
}

// A batch that waits for a slot ends with its context.
func TestABatchThatWaitsEndsWithItsContext(t *testing.T) {
	withSlots(t, 1, func(t *testing.T) {
		slots <- struct{}{}
		ctx, leave := context.WithCancel(t.Context())
		var err error
		go func() { _, err = Offspring(ctx, []Parents{{First: "CCO", Count: MaxOffspring}}) }()
		synctest.Wait()
		leave()
		synctest.Wait()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
