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

// A row of these tests is its own length; its result is its double.
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

// recorder is a run that takes a while and remembers its calls.
type recorder struct {
	mu    sync.Mutex
	calls [][]int
	takes time.Duration
}

func (r *recorder) run(ctx context.Context, rows []int) ([]int, error) {
	r.mu.Lock()
	r.calls = append(r.calls, slices.Clone(rows))
	r.mu.Unlock()
	select {
	case <-time.After(r.takes):
		return doubled(rows), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func repeated(row, n int) []int { return slices.Repeat([]int{row}, n) }

func TestBatcherAnswersEveryRowOnceWithinItsBounds(t *testing.T) {
	var rows, calls atomic.Int64
	o := batching.Options{MaxRows: 8, MaxTokens: 300, Concurrency: 3, MaxWaiting: 1 << 20}
	o.Observe = func(b batching.Stats) {
		calls.Add(1)
		rows.Add(int64(b.Rows))
		if b.Rows > 8 || (b.Padded > 300 && b.Rows > 1) || b.Tokens > b.Padded || b.Requests > b.Rows || b.Requests < 1 {
			t.Errorf("out of bounds: %+v", b)
		}
	}
	b := newBatcher(func(_ context.Context, rows []int) ([]int, error) { return doubled(rows), nil }, o)
	var sent int64
	var clients sync.WaitGroup
	for seed := range uint64(16) {
		random := rand.New(rand.NewPCG(seed, 1))
		requests := make([][]int, 50)
		for i := range requests {
			requests[i] = make([]int, random.IntN(20))
			for j := range requests[i] {
				requests[i][j] = random.IntN(400)
			}
			sent += int64(len(requests[i]))
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
	if rows.Load() != sent {
		t.Errorf("%d rows were sent in calls, want %d", rows.Load(), sent)
	}
	if calls.Load() == 0 || calls.Load() == sent {
		t.Errorf("%d calls for %d rows: nothing was joined", calls.Load(), sent)
	}
}

func TestBatcherSendsALoneRequestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: 10 * time.Millisecond}
		b := newBatcher(r.run, batching.Options{})
		request := &telemetry.Request{}
		start := time.Now()
		if _, err := b.Do(telemetry.WithRequest(t.Context(), request), []int{7}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != r.takes || request.Triton() != r.takes {
			t.Errorf("took %v, counted %v; want %v", took, request.Triton(), r.takes)
		}
	})
}

// Rows that wait behind a running call go together by length, not by arrival and not by request.
func TestBatcherGroupsByLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: time.Second}
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
		// The three share. 400, 401, 500 and 200 have no neighbour below 400 padded tokens, and 11 stands between 10 and
		// 12; of the four around 100 three fit, and the fourth is left over.
		want := [][]int{{1}, {400}, {401}, {500}, {200}, {100, 101, 102}, {99}, {10, 11, 12}}
		if fmt.Sprint(r.calls) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", r.calls, want)
		}
	})
}

// Where padding costs little, rows of other lengths join, and a batch is cut by what its rows cost.
func TestBatcherJoinsOtherLengthsWherePaddingCostsLittle(t *testing.T) {
	for cost, want := range map[float64][][]int{
		1:    {{1}, {200}, {90, 100}, {10, 12}},
		0.25: {{1}, {90, 100, 200}, {10, 12}},
		0.05: {{1}, {10, 12, 90, 100, 200}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := &recorder{takes: time.Second}
			b := newBatcher(r.run, batching.Options{MaxRows: 8, MaxTokens: 450, CallTokens: 30, Concurrency: 1, PaddingCost: cost})
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
				t.Errorf("padding at %v: got %v, want %v", cost, r.calls, want)
			}
		})
	}
}

func TestBatcherPadsLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var padded, tokens int
		r := &recorder{takes: time.Second}
		b := newBatcher(r.run, batching.Options{MaxRows: 32, MaxTokens: 512, Concurrency: 1, Observe: func(b batching.Stats) {
			padded, tokens = padded+b.Padded, tokens+b.Tokens
		}})
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
			t.Errorf("%.1f%% of %d tokens were padding", 100*waste, padded)
		}
	})
}

func TestBatcherTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: time.Second}
		b := newBatcher(r.run, batching.Options{MaxRows: 10, MaxTokens: 1000, CallTokens: 5, Concurrency: 1})
		var clients sync.WaitGroup
		start := time.Now()
		var long, short time.Duration
		clients.Go(func() { _, _ = b.Do(t.Context(), repeated(100, 1000)); long = time.Since(start) })
		time.Sleep(1500 * time.Millisecond)
		clients.Go(func() { _, _ = b.Do(t.Context(), []int{10}); short = time.Since(start) })
		clients.Wait()
		// The call in flight ends at 2 s; the long request's next turn may come first, so the short one is done by 4 s.
		if short > 4*time.Second || long != 101*time.Second {
			t.Errorf("the short request was done at %v, the long one at %v", short, long)
		}
	})
}

// Short requests that keep coming must not hold a long row back for ever.
func TestBatcherStarvesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: time.Second}
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

func TestBatcherDropsRowsWhoseCallerLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: time.Second}
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
			t.Errorf("calls were made for rows that nobody waits for: %v", r.calls)
		}
	})
}

// A call goes on while anyone waits for it, and ends with the last.
func TestBatcherCancelsACallWithItsLastCaller(t *testing.T) {
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

func TestBatcherPassesTheLatestDeadlineOn(t *testing.T) {
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
		t.Errorf("a deadline out of nowhere: %v, %v", got, err)
	}
}

// One request's bad row fails neither its neighbours in the call nor anyone outside it.
func TestBatcherKeepsErrorsApart(t *testing.T) {
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

// A server that is away is not asked once more for each request.
func TestBatcherDoesNotRepeatWhatFailedOutside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		b := newBatcher(func(context.Context, []int) ([]int, error) {
			calls.Add(1)
			time.Sleep(time.Second)
			return nil, fault.New(fault.Unavailable, "away")
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

func TestBatcherRefusesMoreThanMayWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: time.Second}
		b := newBatcher(r.run, batching.Options{Concurrency: 1, MaxRows: 1, MaxWaiting: 10})
		var clients sync.WaitGroup
		clients.Go(func() { _, _ = b.Do(t.Context(), []int{1}) })
		synctest.Wait()
		clients.Go(func() { _, _ = b.Do(t.Context(), repeated(2, 10)) })
		synctest.Wait()
		_, err := b.Do(t.Context(), []int{3})
		if f := fault.As(err); f.Kind != fault.Overloaded || f.RetryAfter < time.Second {
			t.Errorf("with 10 of 10 rows waiting: %v, retry after %v", err, f.RetryAfter)
		}
		clients.Wait()
		if got, err := b.Do(t.Context(), repeated(1, 100)); err != nil || len(got) != 100 {
			t.Errorf("a large request with nothing waiting: %v", err)
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

func TestBatcherContainsWhatRunDoesWrong(t *testing.T) {
	for name, run := range map[string]func(context.Context, []int) ([]int, error){
		"panic":       func(context.Context, []int) ([]int, error) { panic("oops") },
		"few results": func(context.Context, []int) ([]int, error) { return []int{1}, nil },
	} {
		b := newBatcher(run, batching.Options{})
		if _, err := b.Do(t.Context(), []int{1, 2}); fault.KindOf(err) != fault.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// BenchmarkBatcherLone is the own time of the batcher for one short request.
func BenchmarkBatcherLone(b *testing.B) {
	batcher := newBatcher(func(_ context.Context, rows []int) ([]int, error) { return rows, nil }, batching.Options{})
	ctx, row := context.Background(), []int{12}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := batcher.Do(ctx, row); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkBatcherBusy has 64 callers with one row each and 2 calls in flight.
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

// Beside requests of any number of rows, a new short one is in the next batch or the one after it, and none of the long
// ones starves.
func TestBatcherServesShortRequestsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: time.Second}
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
		for at := range 20 {
			time.Sleep(time.Duration(at)*time.Second/2 + time.Millisecond)
			asked := time.Now()
			if _, err := b.Do(t.Context(), []int{5}); err != nil {
				t.Error(err)
			}
			if waited := time.Since(asked); waited > 4*time.Second {
				t.Errorf("a short request waited %v, want at most the batch in flight, one fair turn and its own", waited)
			}
		}
		clients.Wait()
		if fastest, slowest := slices.Min(ended), slices.Max(ended); slowest > 2*fastest+20*time.Second {
			t.Errorf("equal requests ended between %v and %v", fastest, slowest)
		}
	})
}

// A batch made for a short request has no rows of long ones, so that it ends soon. Short ones share theirs.
func TestBatcherKeepsShortRequestsApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: time.Second}
		b := newBatcher(r.run, batching.Options{MaxRows: 8, MaxTokens: 1 << 20, CallTokens: 1 << 20, Concurrency: 1})
		var clients sync.WaitGroup
		for _, rows := range [][]int{repeated(10, 9), repeated(10, 16), {11}, {10, 10}} {
			clients.Go(func() { _, _ = b.Do(t.Context(), rows) })
			synctest.Wait()
		}
		clients.Wait()
		// The first batch was under way; the single row and the two are the next.
		want := [][]int{repeated(10, 8), {10, 10, 11}, repeated(10, 8), repeated(10, 8), {10}}
		if fmt.Sprint(r.calls) != fmt.Sprint(want) {
			t.Errorf("got  %v\nwant %v", r.calls, want)
		}
	})
}

// The rows that a search submits generation by generation are one request's.
func TestBatcherCountsPerRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: time.Second}
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
		asked := time.Now()
		if _, err := b.Do(telemetry.WithRequest(t.Context(), &telemetry.Request{}), []int{7, 7}); err != nil {
			t.Error(err)
		}
		if waited := time.Since(asked); waited > 5*time.Second {
			t.Errorf("two rows waited %v behind the rows of a search", waited)
		}
		stop()
		clients.Wait()
	})
}

// Time in the queue is not time with Triton.
func TestBatcherTellsQueueFromTriton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{takes: time.Second}
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
