package batching_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton/batching"
)

// In these tests the value of a row is its length, and its result is twice the value.
type batcher = batching.Batcher[int, int]

func doubled(rows []int) []int {
	out := make([]int, len(rows))
	for i, row := range rows {
		out[i] = 2 * row
	}
	return out
}

func newBatcher(run func(context.Context, []int) ([]int, error), o batching.Options) *batcher {
	return batching.New(func(row int) int { return row }, run, o)
}

// recorder has a run function that sleeps for duration and records its calls.
type recorder struct {
	mu       sync.Mutex
	calls    [][]int
	duration time.Duration
}

func (r *recorder) run(ctx context.Context, rows []int) ([]int, error) {
	r.mu.Lock()
	r.calls = append(r.calls, slices.Clone(rows))
	r.mu.Unlock()
	select {
	case <-time.After(r.duration):
		return doubled(rows), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func repeated(row, n int) []int { return slices.Repeat([]int{row}, n) }

func TestBatcherSendsEveryRowOnceWithinBounds(t *testing.T) {
	var rows, calls atomic.Int64
	o := batching.Options{MaxRows: 8, MaxTokens: 300, Concurrency: 3, MaxWaiting: 1 << 20}
	o.Observe = func(b batching.Stats) {
		calls.Add(1)
		rows.Add(int64(b.Rows))
		if b.Rows > 8 || (b.Padded > 300 && b.Rows > 1) || b.Tokens > b.Padded ||
			b.Requests > b.Rows || b.Requests < 1 {
			t.Errorf("out of bounds: %+v", b)
		}
	}
	b := newBatcher(func(_ context.Context, rows []int) ([]int, error) { return doubled(rows), nil }, o)
	var submitted int64
	var clients sync.WaitGroup
	for seed := range uint64(16) {
		random := rand.New(rand.NewPCG(seed, 1))
		requests := make([][]int, 50)
		for i := range requests {
			requests[i] = make([]int, random.IntN(20))
			for j := range requests[i] {
				requests[i][j] = random.IntN(400)
			}
			submitted += int64(len(requests[i]))
		}
		clients.Go(func() {
			for _, request := range requests {
				if got, err := b.Do(t.Context(), request); err != nil || !slices.Equal(got, doubled(request)) {
					t.Errorf("%v gave %v, %v", request, got, err)
				}
			}
		})
	}
	clients.Wait()
	if rows.Load() != submitted {
		t.Errorf("the calls had %d rows, want %d", rows.Load(), submitted)
	}
	if calls.Load() == 0 || calls.Load() == submitted {
		t.Errorf("%d calls for %d rows: no rows were combined", calls.Load(), submitted)
	}
}

func TestBatcherSendsLoneRequestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: 10 * time.Millisecond}
		b := newBatcher(r.run, batching.Options{})
		request := &telemetry.Request{}
		start := time.Now()
		if _, err := b.Do(telemetry.WithRequest(t.Context(), request), []int{7}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != r.duration || request.Triton() != r.duration {
			t.Errorf("took %v, counted %v; want %v", took, request.Triton(), r.duration)
		}
	})
}

// Rows that wait for a call to end are grouped by length, not by arrival or request.
func TestBatcherGroupsByLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: time.Second}
		b := newBatcher(r.run, batching.Options{MaxRows: 4, MaxTokens: 400, CallTokens: 10, Concurrency: 1})
		var clients sync.WaitGroup
		for _, rows := range [][]int{{1}, {100, 10, 200, 400}, {102, 11, 99, 401}, {12, 500, 101}} {
			clients.Go(func() {
				if _, err := b.Do(t.Context(), rows); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		clients.Wait()
		// 400, 401, 500 and 200 have no neighbour that fits in 400 padded tokens. Three of the four rows around 100
		// fit.
		want := [][]int{{1}, {400}, {401}, {500}, {200}, {100, 101, 102}, {99}, {10, 11, 12}}
		if fmt.Sprint(r.calls) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", r.calls, want)
		}
	})
}

// If padding is cheap, rows of different lengths share a batch, which is bounded by its cost.
func TestBatcherCombinesLengthsIfPaddingIsCheap(t *testing.T) {
	for cost, want := range map[float64][][]int{
		1:    {{1}, {200}, {90, 100}, {10, 12}},
		0.25: {{1}, {90, 100, 200}, {10, 12}},
		0.05: {{1}, {10, 12, 90, 100, 200}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{duration: time.Second}
			b := newBatcher(r.run, batching.Options{
				MaxRows:     8,
				MaxTokens:   450,
				CallTokens:  30,
				Concurrency: 1,
				PaddingCost: cost,
			})
			var clients sync.WaitGroup
			for _, rows := range [][]int{{1}, {100, 10, 200, 12, 90}} {
				clients.Go(func() {
					if _, err := b.Do(t.Context(), rows); err != nil {
						t.Error(err)
					}
				})
				synctest.Wait()
			}
			clients.Wait()
			if fmt.Sprint(r.calls) != fmt.Sprint(want) {
				t.Errorf("padding cost %v: got %v, want %v", cost, r.calls, want)
			}
		})
	}
}

func TestBatcherPadsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var padded, tokens int
		r := &recorder{duration: time.Second}
		o := batching.Options{MaxRows: 32, MaxTokens: 512, Concurrency: 1}
		o.Observe = func(b batching.Stats) {
			padded += b.Padded
			tokens += b.Tokens
		}
		b := newBatcher(r.run, o)
		random := rand.New(rand.NewPCG(1, 2))
		var clients sync.WaitGroup
		for range 64 {
			rows := make([]int, 8)
			for i := range rows {
				rows[i] = 10 + random.IntN(247)
			}
			clients.Go(func() {
				if _, err := b.Do(t.Context(), rows); err != nil {
					t.Error(err)
				}
			})
		}
		clients.Wait()
		if waste := float64(padded)/float64(tokens) - 1; waste > 0.04 {
			t.Errorf("padding adds %.1f%% to %d tokens, want at most 4%%", 100*waste, tokens)
		}
	})
}

func TestBatcherTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: time.Second}
		b := newBatcher(r.run, batching.Options{MaxRows: 10, MaxTokens: 1000, CallTokens: 5, Concurrency: 1})
		var clients sync.WaitGroup
		start := time.Now()
		var long, short time.Duration
		clients.Go(func() {
			_, _ = b.Do(t.Context(), repeated(100, 1000))
			long = time.Since(start)
		})
		time.Sleep(1500 * time.Millisecond)
		clients.Go(func() {
			_, _ = b.Do(t.Context(), []int{10})
			short = time.Since(start)
		})
		clients.Wait()
		// The call in flight ends at 2 s. The long request may have the next turn, so the short one is done by 4 s.
		if short > 4*time.Second || long != 101*time.Second {
			t.Errorf("the short request was done at %v, the long one at %v", short, long)
		}
	})
}

// A stream of short requests does not starve a long row.
func TestBatcherDoesNotStarveLongRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: time.Second}
		b := newBatcher(r.run, batching.Options{MaxRows: 4, CallTokens: 8, Concurrency: 1})
		ctx, stop := context.WithCancel(t.Context())
		var clients sync.WaitGroup
		for range 12 {
			clients.Go(func() {
				for ctx.Err() == nil {
					_, _ = b.Do(ctx, []int{5})
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		if _, err := b.Do(t.Context(), []int{300}); err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited > 14*time.Second {
			t.Errorf("the long row waited %v among 12 short requests", waited)
		}
		stop()
		clients.Wait()
	})
}

func TestBatcherDropsRowsOfDepartedCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: time.Second}
		b := newBatcher(r.run, batching.Options{Concurrency: 1})
		var clients sync.WaitGroup
		clients.Go(func() { _, _ = b.Do(t.Context(), []int{1}) })
		synctest.Wait()
		ctx, leave := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer leave()
		start := time.Now()
		_, err := b.Do(ctx, []int{2, 3, 4})
		if fault.KindOf(err) != fault.Timeout || time.Since(start) != 500*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
		clients.Wait()
		if fmt.Sprint(r.calls) != "[[1]]" {
			t.Errorf("rows of the departed caller were sent: %v", r.calls)
		}
	})
}

// A call is cancelled when the last of its callers leaves.
func TestBatcherCancelsCallWithLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Duration, 2)
		start := time.Now()
		b := newBatcher(func(ctx context.Context, rows []int) ([]int, error) {
			if len(rows) == 1 {
				time.Sleep(time.Second)
				return doubled(rows), nil
			}
			<-ctx.Done()
			ended <- time.Since(start)
			return nil, ctx.Err()
		}, batching.Options{Concurrency: 1})
		var clients sync.WaitGroup
		clients.Go(func() { _, _ = b.Do(t.Context(), []int{1}) })
		synctest.Wait()
		for _, patience := range []time.Duration{2 * time.Second, 3 * time.Second} {
			clients.Go(func() {
				ctx, leave := context.WithCancel(t.Context())
				time.AfterFunc(patience, leave)
				if _, err := b.Do(ctx, []int{2}); fault.KindOf(err) != fault.Canceled {
					t.Error(err)
				}
			})
		}
		clients.Wait()
		if at := <-ended; at != 3*time.Second {
			t.Errorf("the call ended at %v, want 3s", at)
		}
	})
}

func TestBatcherPassesOnLatestDeadline(t *testing.T) {
	var got time.Time
	var ok bool
	b := newBatcher(func(ctx context.Context, rows []int) ([]int, error) {
		got, ok = ctx.Deadline()
		return doubled(rows), nil
	}, batching.Options{})
	want := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), want)
	defer cancel()
	if _, err := b.Do(ctx, []int{1}); err != nil || !ok || !got.Equal(want) {
		t.Errorf("deadline %v, %v, %v; want %v", got, ok, err, want)
	}
	if _, err := b.Do(t.Context(), []int{1}); err != nil || ok {
		t.Errorf("a call without a deadline got %v, %v", got, err)
	}
}

// A bad row fails its own request only.
func TestBatcherIsolatesErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		poison := fault.New(fault.Invalid, "a bad row")
		b := newBatcher(func(_ context.Context, rows []int) ([]int, error) {
			time.Sleep(time.Second)
			if slices.Contains(rows, 13) {
				return nil, poison
			}
			return doubled(rows), nil
		}, batching.Options{Concurrency: 1, CallTokens: 100})
		var clients sync.WaitGroup
		for _, rows := range [][]int{{1}, {12, 11}, {13, 14}, {15}} {
			clients.Go(func() {
				got, err := b.Do(t.Context(), rows)
				if slices.Contains(rows, 13) {
					if !errors.Is(err, poison) {
						t.Errorf("%v: %v, %v", rows, got, err)
					}
				} else if err != nil || !slices.Equal(got, doubled(rows)) {
					t.Errorf("%v: %v, %v", rows, got, err)
				}
			})
			synctest.Wait()
		}
		clients.Wait()
	})
}

// A batch that failed because the server is unavailable is not repeated for each request.
func TestBatcherDoesNotSplitBatchOnServerFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		b := newBatcher(func(context.Context, []int) ([]int, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return nil, fault.New(fault.Unavailable, "no server")
		}, batching.Options{Concurrency: 1})
		var clients sync.WaitGroup
		for range 9 {
			clients.Go(func() {
				if _, err := b.Do(t.Context(), []int{1}); fault.KindOf(err) != fault.Unavailable {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		clients.Wait()
		if calls.Load() != 2 {
			t.Errorf("%d calls, want 2", calls.Load())
		}
	})
}

func TestBatcherBoundsWaitingRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: time.Second}
		b := newBatcher(r.run, batching.Options{Concurrency: 1, MaxRows: 1, MaxWaiting: 10})
		var clients sync.WaitGroup
		clients.Go(func() { _, _ = b.Do(t.Context(), []int{1}) })
		synctest.Wait()
		clients.Go(func() { _, _ = b.Do(t.Context(), repeated(2, 10)) })
		synctest.Wait()
		_, err := b.Do(t.Context(), []int{3})
		if f := fault.As(err); f.Kind != fault.Overloaded || f.RetryAfter < time.Second {
			t.Errorf("10 of 10 rows are waiting: %v, retry after %v", err, f.RetryAfter)
		}
		clients.Wait()
		if got, err := b.Do(t.Context(), repeated(1, 100)); err != nil || len(got) != 100 {
			t.Errorf("a large request while no row waits: %v", err)
		}
		clients.Go(func() { _, _ = b.Do(t.Context(), repeated(1, 10)) })
		synctest.Wait()
		_, err = b.Do(t.Context(), repeated(1, 10))
		if f := fault.As(err); f.Kind != fault.Overloaded || f.RetryAfter != 9*time.Second {
			t.Errorf("9 rows of a second each are waiting: %v, retry after %v", err, f.RetryAfter)
		}
		clients.Wait()
	})
}

func TestBatcherReportsPanicAndMissingResults(t *testing.T) {
	for name, run := range map[string]func(context.Context, []int) ([]int, error){
		"panic":          func(context.Context, []int) ([]int, error) { panic("oops") },
		"missing result": func(context.Context, []int) ([]int, error) { return []int{1}, nil },
	} {
		b := newBatcher(run, batching.Options{})
		if _, err := b.Do(t.Context(), []int{1, 2}); fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkBatcherLone measures the overhead of the batcher for one short request.
func BenchmarkBatcherLone(b *testing.B) {
	batcher := newBatcher(func(_ context.Context, rows []int) ([]int, error) { return rows, nil }, batching.Options{})
	ctx := context.Background()
	row := []int{12}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := batcher.Do(ctx, row); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBatcherBusy measures 64 callers with one row each and 2 calls in flight.
func BenchmarkBatcherBusy(b *testing.B) {
	batcher := newBatcher(func(_ context.Context, rows []int) ([]int, error) { return rows, nil }, batching.Options{})
	var lengths atomic.Int64
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := batcher.Do(context.Background(), []int{10 + int(lengths.Add(37)%247)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A short request is served in one of the next two batches, however many rows of other requests wait, and equal long
// requests end at about the same time.
func TestBatcherServesShortRequestsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: time.Second}
		b := newBatcher(r.run, batching.Options{MaxRows: 8, MaxTokens: 1 << 20, CallTokens: 1, Concurrency: 1})
		var clients sync.WaitGroup
		ended := make([]time.Duration, 64)
		start := time.Now()
		for i := range ended {
			clients.Go(func() {
				if _, err := b.Do(t.Context(), repeated(100, 40)); err != nil {
					t.Error(err)
				}
				ended[i] = time.Since(start)
			})
		}
		synctest.Wait()
		for i := range 20 {
			time.Sleep(time.Duration(i)*time.Second/2 + time.Millisecond)
			submitted := time.Now()
			if _, err := b.Do(t.Context(), []int{5}); err != nil {
				t.Error(err)
			}
			if waited := time.Since(submitted); waited > 4*time.Second {
				t.Errorf("a short request waited %v, want at most the batch in flight, a fair turn and its own batch",
					waited)
			}
		}
		clients.Wait()
		if fastest, slowest := slices.Min(ended), slices.Max(ended); slowest > 2*fastest+20*time.Second {
			t.Errorf("equal requests ended between %v and %v", fastest, slowest)
		}
	})
}

// Short requests share a batch without rows of long requests, so that it ends soon.
func TestBatcherSeparatesShortRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: time.Second}
		b := newBatcher(r.run, batching.Options{MaxRows: 8, MaxTokens: 1 << 20, CallTokens: 1 << 20, Concurrency: 1})
		var clients sync.WaitGroup
		for _, rows := range [][]int{repeated(10, 9), repeated(10, 16), {11}, {10, 10}} {
			clients.Go(func() { _, _ = b.Do(t.Context(), rows) })
			synctest.Wait()
		}
		clients.Wait()
		// The first batch is in flight when the others come. The two short requests share the next one.
		want := [][]int{repeated(10, 8), {10, 10, 11}, repeated(10, 8), repeated(10, 8), {10}}
		if fmt.Sprint(r.calls) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", r.calls, want)
		}
	})
}

// All submissions of an HTTP request count towards its claim, such as the generations of a search.
func TestBatcherCountsServicePerRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: time.Second}
		b := newBatcher(r.run, batching.Options{MaxRows: 1, Concurrency: 1})
		search := telemetry.WithRequest(t.Context(), &telemetry.Request{})
		ctx, stop := context.WithCancel(search)
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				for ctx.Err() == nil {
					_, _ = b.Do(ctx, []int{3})
				}
			})
		}
		time.Sleep(30 * time.Second)
		submitted := time.Now()
		if _, err := b.Do(telemetry.WithRequest(t.Context(), &telemetry.Request{}), []int{7, 7}); err != nil {
			t.Error(err)
		}
		if waited := time.Since(submitted); waited > 5*time.Second {
			t.Errorf("two rows waited %v behind the rows of a search", waited)
		}
		stop()
		clients.Wait()
	})
}

func TestBatcherSeparatesQueueTimeFromTritonTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{duration: time.Second}
		b := newBatcher(r.run, batching.Options{MaxRows: 2, Concurrency: 1})
		var clients sync.WaitGroup
		clients.Go(func() { _, _ = b.Do(t.Context(), []int{1}) })
		synctest.Wait()
		request := &telemetry.Request{}
		if _, err := b.Do(telemetry.WithRequest(t.Context(), request), []int{2, 2, 2}); err != nil {
			t.Error(err)
		}
		if request.Triton() != 2*time.Second || request.Queued() != time.Second {
			t.Errorf("%v with Triton, %v in the queue; want 2s and 1s", request.Triton(), request.Queued())
		}
		clients.Wait()
	})
}
