package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"retort/scripts/bench/comparison"
)

// flat is how much the memory of the last tenth may exceed that of the first, and mostMemory what it may be, in MB.
const (
	flat       = 1.05
	mostMemory = 150
)

// soak keeps three loads on the gateway at once for a while and watches its resident memory, from the moment the first
// tenth of the time is over: until then its pools fill.
func soak(ctx context.Context, out io.Writer, gateway comparison.Side, short, mixed []string, length time.Duration) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	end := time.Now().Add(length)
	var workers sync.WaitGroup
	run := func(concurrency int, l comparison.Load) {
		for w := range concurrency {
			workers.Go(func() {
				for i := w; time.Now().Before(end) && ctx.Err() == nil; i += concurrency {
					lo := i * l.Size % len(l.Texts)
					if err := gateway.Call(ctx, l.Texts, lo, lo+l.Size); err != nil {
						stop(err)
					}
				}
			})
		}
	}
	run(32, comparison.Requests(short, 1))
	run(4, comparison.Requests(short, 32))
	run(2, comparison.Requests(mixed, 128))
	memory, err := watch(ctx, gateway.Served[0], length)
	workers.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	tenth := len(memory) / 10
	start := comparison.Median(memory[tenth : 2*tenth])
	middle := comparison.Median(memory[len(memory)/2-tenth/2:][:tenth])
	last := comparison.Median(memory[len(memory)-tenth:])
	verdict := "met"
	if last > flat*start || slices.Max(memory) >= mostMemory {
		verdict = "missed"
	}
	_, err = fmt.Fprintf(out, "\nGateway's resident memory under all these loads at once for %v: after a tenth %.1f MB, halfway %.1f MB, at the end %.1f MB, at most %.1f MB (wanted: flat, below %d MB): %s\n",
		length, start, middle, last, slices.Max(memory), mostMemory, verdict)
	return err
}

// watch reads the memory a hundred times.
func watch(ctx context.Context, pid int, length time.Duration) (memory []float64, err error) {
	const samples = 100
	tick := time.NewTicker(length / (samples + 1))
	defer tick.Stop()
	for range samples {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
		mb, err := comparison.Resident(pid)
		if err != nil {
			return nil, err
		}
		memory = append(memory, mb)
	}
	return memory, nil
}
