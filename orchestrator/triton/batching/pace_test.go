package batching_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"retort/orchestrator/triton/batching"
)

// fakeModel computes one call at a time on each of its instances, in a millisecond per padded token.
type fakeModel struct {
	busy  chan struct{}
	start time.Time

	mu       sync.Mutex
	arrivals []string // time and rows of each call
}

func newFakeModel(instances int) *fakeModel {
	return &fakeModel{busy: make(chan struct{}, instances), start: time.Now()}
}

func (m *fakeModel) run(_ context.Context, rows []int) ([]int, error) {
	m.mu.Lock()
	m.arrivals = append(m.arrivals, fmt.Sprint(time.Since(m.start), rows))
	m.mu.Unlock()
	m.busy <- struct{}{}
	time.Sleep(time.Duration(len(rows)*rows[len(rows)-1]) * time.Millisecond)
	<-m.busy
	return doubled(rows), nil
}

// A batch that would only wait at Triton for an instance is built shortly before one is free, from all rows that wait
// then. It is sent at once if an instance is free or the number of instances is unknown.
func TestBatcherPostponesBatchWithoutFreeInstance(t *testing.T) {
	tests := map[string]struct {
		replicas    int
		instances   int
		concurrency int
		unknown     bool
		want        []string
	}{
		// The first batch gives the pace, so the second is estimated to end at 160 ms. The third is sent earlier, by an
		// eighth of the second's 80 ms and 1 ms for the round trip.
		"one instance": {1, 1, 2, false, []string{"0s [80]", "80ms [80]", "149ms [10 11 12]"}},
		"free instance": {1, 2, 3, false, []string{
			"0s [80]", "80ms [80]", "90ms [10]", "100ms [12]", "110ms [11]",
		}},
		"free replica": {2, 1, 2, false, []string{
			"0s [80]", "80ms [80]", "90ms [10]", "100ms [12]", "110ms [11]",
		}},
		"unknown": {1, 1, 2, true, []string{"0s [80]", "80ms [80]", "90ms [10]", "160ms [11 12]"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newFakeModel(test.replicas * test.instances)
				o := batching.Options{MaxTokens: 1000, CallTokens: 100, Concurrency: test.concurrency}
				o.Replicas = func() int { return test.replicas }
				if !test.unknown {
					o.Instances = test.instances
				}
				b := newBatcher(m.run, o)
				var clients sync.WaitGroup
				do := func(row int) {
					clients.Go(func() {
						if _, err := b.Do(t.Context(), []int{row}); err != nil {
							t.Error(err)
						}
					})
				}
				do(80)
				time.Sleep(80 * time.Millisecond)
				synctest.Wait()
				for _, row := range []int{80, 10, 12, 11} {
					do(row)
					time.Sleep(10 * time.Millisecond)
				}
				clients.Wait()
				if !slices.Equal(m.arrivals, test.want) {
					t.Errorf("got  %v\nwant %v", m.arrivals, test.want)
				}
			})
		})
	}
}

// A full batch is not postponed.
func TestBatcherSendsFullBatchAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newFakeModel(1)
		b := newBatcher(m.run, batching.Options{MaxTokens: 100, Concurrency: 2, Instances: 1})
		var clients sync.WaitGroup
		for range 3 {
			clients.Go(func() {
				if _, err := b.Do(t.Context(), repeated(10, 10)); err != nil {
					t.Error(err)
				}
			})
			time.Sleep(10 * time.Millisecond)
		}
		clients.Wait()
		full := fmt.Sprint(repeated(10, 10))
		if want := []string{"0s " + full, "10ms " + full, "100ms " + full}; !slices.Equal(m.arrivals, want) {
			t.Errorf("got  %v\nwant %v", m.arrivals, want)
		}
	})
}
