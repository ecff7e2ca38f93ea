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

// Background rows are sent after foreground rows, in batches of their own. The batches are small until the foreground
// has been quiet for a while.
func TestBatcherSendsBackgroundLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: 10 * time.Millisecond}
		b := newBatcher(r.run, batching.Options{MaxRows: 32, MaxTokens: 320, Concurrency: 1})
		background := telemetry.WithRequest(t.Context(), &telemetry.Request{Background: true})
		done := make(chan struct{}, 8)
		do := func(ctx context.Context, row, n int) {
			go func() {
				if _, err := b.Do(ctx, repeated(row, n)); err != nil {
					t.Error(err)
				}
				done <- struct{}{}
			}()
			synctest.Wait()
		}
		do(t.Context(), 11, 1)
		do(background, 10, 8)
		do(t.Context(), 11, 2)
		do(t.Context(), 11, 2)
		for range 4 {
			<-done
		}
		if len(r.calls) != 4 ||
			!slices.Equal(r.calls[1], repeated(11, 4)) ||
			!slices.Equal(r.calls[2], repeated(10, 4)) {
			t.Errorf("calls: %v", r.calls)
		}

		time.Sleep(3 * time.Second) // longer than the quiet period
		r.calls = nil
		do(background, 10, 1)
		do(background, 10, 16)
		<-done
		<-done
		if len(r.calls) != 2 || len(r.calls[1]) != 16 {
			t.Errorf("calls with a quiet foreground: %v", r.calls)
		}
	})
}

// Under constant foreground load, a background row waits at most about a second.
func TestBatcherDoesNotStarveBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: 10 * time.Millisecond}
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
			start := time.Now()
			if _, err := b.Do(background, []int{10}); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(start); waited > 1200*time.Millisecond {
				t.Errorf("the background waited %v", waited)
			}
		}
		stop()
		synctest.Wait()
		time.Sleep(time.Second)
	})
}
