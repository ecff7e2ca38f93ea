package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// table measures and prints.
type table struct {
	out io.Writer
	err error
}

func newTable(out io.Writer) *table { return &table{out: out} }

// load is a workload cut in requests of size texts.
type load struct {
	texts []string
	size  int
}

func throughput(texts []string, size int) load { return load{texts[:len(texts)/size*size], size} }

// compare prints texts per second of each side at a concurrency.
func (t *table) compare(ctx context.Context, title string, concurrency int, l load, sides []side, target string) {
	t.rounds(title, sides, target, func(s side) ([]float64, error) {
		rate, err := l.rate(ctx, s, concurrency)
		return []float64{rate}, err
	}, func(a, b float64) string { return fmt.Sprintf("ratio %.2f", a/b) })
}

// latency prints the time of single requests, one after another.
func (t *table) latency(ctx context.Context, title string, texts []string, sides []side, target string) {
	t.rounds(title, sides, target, func(s side) ([]float64, error) {
		var times []float64
		for until := time.Now().Add(*period / 2); time.Now().Before(until); {
			i := len(times) % len(texts)
			start := time.Now()
			if err := s.call(ctx, texts, i, i+1); err != nil {
				return nil, err
			}
			times = append(times, float64(time.Since(start).Microseconds())/1000)
		}
		return []float64{median(times)}, nil
	}, func(a, b float64) string { return fmt.Sprintf("%.2f ms added, ratio %.2f", a-b, a/b) })
}

// rounds measures the sides in turn, after one round that is not counted.
func (t *table) rounds(title string, sides []side, target string, measure func(side) ([]float64, error), against func(a, b float64) string) {
	if t.err != nil {
		return
	}
	found := make([][]float64, len(sides))
	for round := range *rounds + 1 {
		for i, s := range sides {
			values, err := measure(s)
			if err != nil {
				t.err = fmt.Errorf("%s: %s: %w", title, s.name, err)
				return
			}
			if round > 0 {
				found[i] = append(found[i], values...)
			}
		}
	}
	fmt.Fprintf(t.out, "\n%s\n", title)
	for i, s := range sides {
		fmt.Fprintf(t.out, "  %-30s min %9.2f  median %9.2f  max %9.2f\n", s.name, slices.Min(found[i]), median(found[i]), slices.Max(found[i]))
	}
	fmt.Fprintf(t.out, "  %s (wanted: %s)\n", against(median(found[0]), median(found[1])), target)
}

// rate is texts per second over one period.
func (l load) rate(ctx context.Context, s side, concurrency int) (float64, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, done atomic.Int64
	start := time.Now()
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for time.Since(start) < *period && ctx.Err() == nil {
				lo := int(next.Add(int64(l.size))-int64(l.size)) % len(l.texts)
				if err := s.call(ctx, l.texts, lo, lo+l.size); err != nil {
					stop(err)
					return
				}
				done.Add(int64(l.size))
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return float64(done.Load()) / time.Since(start).Seconds(), nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
