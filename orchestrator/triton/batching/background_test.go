package batching_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton/batching"
)

// Rows in the background are sent after those that someone waits for, in batches of their own, which are small for as
// long as anyone asks.
func TestBatcherSendsTheBackgroundLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: 10 * time.Millisecond}
		b := newBatcher(r.run, batching.Options{MaxRows: 32, MaxTokens: 320, Concurrency: 1})
		background := telemetry.WithRequest(t.Context(), &telemetry.Request{Background: true})
		ended := make(chan struct{}, 8)
		do := func(ctx context.Context, row, n int) {
			go func() {
				if _, err := b.Do(ctx, repeated(row, n)); err != nil {
					t.Error(err)
				}
				ended <- struct{}{}
			}()
			synctest.Wait()
		}
		do(t.Context(), 11, 1)
		do(background, 10, 8)
		do(t.Context(), 11, 2)
		do(t.Context(), 11, 2)
		for range 4 {
			<-ended
		}
		if len(r.calls) != 4 || !slices.Equal(r.calls[1], repeated(11, 4)) || !slices.Equal(r.calls[2], repeated(10, 4)) {
			t.Errorf("calls: %v", r.calls)
		}

		time.Sleep(3 * time.Second) // nobody asks any more
		r.calls = nil
		do(background, 10, 1)
		do(background, 10, 16)
		<-ended
		<-ended
		if len(r.calls) != 2 || len(r.calls[1]) != 16 {
			t.Errorf("calls while nobody asks: %v", r.calls)
		}
	})
}

// Requests without end do not keep the background from its turn for more than about a second.
func TestBatcherDoesNotStarveTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: 10 * time.Millisecond}
		b := newBatcher(r.run, batching.Options{Concurrency: 1})
		ctx, stop := context.WithCancel(t.Context())
		for range 3 {
			go func() {
				for ctx.Err() == nil {
					_, _ = b.Do(ctx, repeated(7, 100)) // ends with ctx
				}
			}()
		}
		time.Sleep(time.Second)
		background := telemetry.WithRequest(t.Context(), &telemetry.Request{Background: true})
		for range 3 {
			began := time.Now()
			if _, err := b.Do(background, []int{10}); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(began); waited > 1200*time.Millisecond {
				t.Errorf("it waited for %v", waited)
			}
		}
		stop()
		synctest.Wait()
		time.Sleep(time.Second)
	})
}
