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

// copies is a model of so many instances, each of which computes one call after another, a millisecond a padded token.
type copies struct {
	free  chan struct{}
	start time.Time

	mu   sync.Mutex
	came []string // when, and the rows
}

func newCopies(n int) *copies { return &copies{free: make(chan struct{}, n), start: time.Now()} }

func (c *copies) run(_ context.Context, rows []int) ([]int, error) {
	c.mu.Lock()
	c.came = append(c.came, fmt.Sprint(time.Since(c.start), rows))
	c.mu.Unlock()
	c.free <- struct{}{}
	time.Sleep(time.Duration(len(rows)*rows[len(rows)-1]) * time.Millisecond)
	<-c.free
	return doubled(rows), nil
}

// A batch that would only wait at Triton for another one to end is made shortly before that, of all rows there are by
// then. Not so where a copy of the model is free, or where it is not known how many there are.
func TestBatcherMakesTheNextBatchLate(t *testing.T) {
	tests := map[string]struct {
		copies, concurrency int
		unknown             bool
		want                []string
	}{
		// The first batch tells how long a token takes, so that the second is foreseen to end at 160 ms: an eighth of its
		// 80 ms and one more before that the third is made.
		"one copy":       {1, 2, false, []string{"0s [80]", "80ms [80]", "149ms [10 11 12]"}},
		"a copy is free": {2, 3, false, []string{"0s [80]", "80ms [80]", "90ms [10]", "100ms [12]", "110ms [11]"}},
		"not known":      {1, 2, true, []string{"0s [80]", "80ms [80]", "90ms [10]", "160ms [11 12]"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCopies(test.copies)
				o := batching.Options{MaxTokens: 1000, CallTokens: 100, Concurrency: test.concurrency}
				if !test.unknown {
					o.Copies = func() int { return test.copies }
				}
				b := newBatcher(c.run, o)
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
				if !slices.Equal(c.came, test.want) {
					t.Errorf("got  %v\nwant %v", c.came, test.want)
				}
			})
		})
	}
}

// A batch that is full does not wait.
func TestBatcherSendsAFullBatchAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCopies(1)
		b := newBatcher(c.run, batching.Options{MaxTokens: 100, Concurrency: 2, Copies: func() int { return 1 }})
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
		if want := []string{"0s " + full, "10ms " + full, "100ms " + full}; !slices.Equal(c.came, want) {
			t.Errorf("got  %v\nwant %v", c.came, want)
		}
	})
}
