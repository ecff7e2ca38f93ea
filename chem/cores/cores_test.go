package cores

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// withSlots runs test in a synctest bubble with its own slots.
func withSlots(t *testing.T, count int, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		before := slots
		defer func() { slots = before }()
		slots = make(chan struct{}, count)
		test(t)
		synctest.Wait()
		if len(slots) > 0 {
			t.Errorf("%d slots are lost", len(slots))
		}
	})
}

func TestABatchWaitsForASlotUnlessItIsLight(t *testing.T) {
	for name, c := range map[string]struct {
		weights []int
		waits   bool
	}{
		"one heavy item":     {[]int{1024}, true},
		"two of 18 together": {[]int{9, 9}, true},
		"one of 16":          {[]int{16}, false},
		"three of 15":        {[]int{7, 1, 7}, false},
	} {
		t.Run(name, func(t *testing.T) {
			withSlots(t, 1, func(t *testing.T) {
				slots <- struct{}{} // held by another batch
				ended := false
				go func() {
					err := Chunks(t.Context(), len(c.weights), func(i int) int { return c.weights[i] }, nothing)
					if err != nil {
						t.Error(err)
					}
					ended = true
				}()
				synctest.Wait()
				if ended == c.waits {
					t.Errorf("ended while all slots were taken: %v, want %v", ended, !c.waits)
				}
				<-slots
				synctest.Wait()
				if !ended {
					t.Error("the batch did not take a free slot")
				}
			})
		})
	}
}

func nothing(context.Context, int, int) error { return nil }

// A chunk holds several light items, or a heavy one alone.
func TestChunksAreCutByWeight(t *testing.T) {
	withSlots(t, 1, func(t *testing.T) {
		weights := []int{1, 1, 1, 1, 90, 1, 1, 200, 1, 1, 1, 1}
		calls := make([]int, len(weights))
		chunks := 0
		err := Chunks(t.Context(), len(weights), func(i int) int { return weights[i] },
			func(_ context.Context, from, to int) error {
				chunks++
				weight := 0
				for i := from; i < to; i++ {
					weight += weights[i]
					calls[i]++
				}
				if to-from > 1 && weight > maxChunk {
					t.Errorf("a chunk of %d items has the weight %d", to-from, weight)
				}
				return nil
			})
		if err != nil || chunks < 5 {
			t.Errorf("%d chunks, error %v", chunks, err)
		}
		for i, n := range calls {
			if n != 1 {
				t.Errorf("item %d is in %d chunks", i, n)
			}
		}
	})
}

func TestMapKeepsTheOrder(t *testing.T) {
	for _, n := range []int{0, 1, maxUnslotted + 1, 10 * maxChunk} {
		withSlots(t, 2, func(t *testing.T) {
			squares, err := Map(t.Context(), n, func(i int) (int, error) { return i * i, nil })
			if err != nil || len(squares) != n {
				t.Fatalf("%d of %d items, error %v", len(squares), n, err)
			}
			for i, square := range squares {
				if square != i*i {
					t.Errorf("item %d is %d", i, square)
				}
			}
		})
	}
}

func TestAPanicIsAnError(t *testing.T) {
	for _, n := range []int{1, maxUnslotted, 10 * maxChunk} {
		withSlots(t, 2, func(t *testing.T) {
			_, err := Map(t.Context(), n, func(i int) (int, error) {
				if i == 0 {
					panic("no such atom")
				}
				return 0, nil
			})
			for _, want := range []string{"no such atom", "cores_test.go"} {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("%d items: error %v, want %q in it", n, err, want)
				}
			}
		})
	}
}

func TestTheFirstErrorEndsABatch(t *testing.T) {
	withSlots(t, 2, func(t *testing.T) {
		broken := errors.New("broken")
		var items atomic.Int64
		_, err := Map(t.Context(), 100*maxChunk, func(int) (int, error) {
			items.Add(1)
			return 0, broken
		})
		if !errors.Is(err, broken) || items.Load() > maxChunk {
			t.Errorf("error %v after %d items", err, items.Load())
		}
	})
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	for name, work := range map[string]func(context.Context) error{
		"a batch": func(ctx context.Context) error { return Chunks(ctx, 10*maxChunk, nil, nothing) },
		"a task": func(ctx context.Context) error {
			_, err := Run(ctx, func(context.Context) (int, error) { return 0, nil })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			withSlots(t, 1, func(t *testing.T) {
				slots <- struct{}{}
				defer func() { <-slots }()
				ctx, cancel := context.WithCancel(t.Context())
				var err error
				go func() { err = work(ctx) }()
				synctest.Wait()
				cancel()
				synctest.Wait()
				if !errors.Is(err, context.Canceled) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

// Tasks on all slots run nested batches. Each batch releases the slot first, so all tasks end.
func TestNestedUseDoesNotDeadlock(t *testing.T) {
	withSlots(t, 2, func(t *testing.T) {
		var ended atomic.Int64
		for range 5 {
			go func() {
				_, err := Run(t.Context(), func(ctx context.Context) (int, error) {
					return 0, Chunks(ctx, 10*maxChunk, nil, func(ctx context.Context, _, _ int) error {
						_, err := Run(ctx, func(ctx context.Context) (int, error) { return 0, ctx.Err() })
						if err != nil {
							return err
						}
						return Chunks(ctx, 10*maxChunk, nil, nothing)
					})
				})
				if err != nil {
					t.Error(err)
				}
				ended.Add(1)
			}()
		}
		synctest.Wait()
		if ended.Load() != 5 {
			t.Errorf("%d of 5 tasks have ended", ended.Load())
		}
	})
}

func TestYieldGivesTheSlotBackWhileItWaits(t *testing.T) {
	withSlots(t, 1, func(t *testing.T) {
		answer := make(chan struct{})
		order := ""
		go func() {
			_, err := Run(t.Context(), func(ctx context.Context) (int, error) {
				_, err := Yield(ctx, func() (int, error) {
					<-answer
					return Yield(ctx, func() (int, error) { return 0, nil }) // without a slot it only runs the function
				})
				if len(slots) != 1 {
					t.Errorf("%d slots are taken after Yield", len(slots))
				}
				order += "first "
				return 0, err
			})
			if err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		_, err := Run(t.Context(), func(context.Context) (int, error) {
			order += "second "
			return 0, nil
		})
		close(answer)
		synctest.Wait()
		if err != nil || order != "second first " {
			t.Errorf("order %q, error %v", order, err)
		}
	})
}
