// Package comparison measures several servers side by side in one run: rounds alternate, so that a machine whose speed
// drifts shifts all alike. It prints medians with lowest and highest, and the ratios round by round.
package comparison

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Side is one of the things compared: Call sends texts [lo, hi) of a workload; Served are the processes that do the
// work.
type Side struct {
	Name   string
	Call   func(ctx context.Context, texts []string, lo, hi int) error
	Served Processes
	// Own is a load of the side's own, one request at a time, where the side is not asked as the others are; nil for
	// the workload's.
	Own *Load
}

// Load is a workload cut in requests of Size texts.
type Load struct {
	Texts []string
	Size  int
}

// Requests leaves out the texts that fill no whole request.
func Requests(texts []string, size int) Load { return Load{texts[:len(texts)/size*size], size} }

// Plan is how much is measured: so many rounds, after one that is not counted, and the length of a round of one side.
type Plan struct {
	Rounds int
	Period time.Duration
	// Each is what is counted: "text" or "pair".
	Each string
}

// figures are what the rounds of one side gave, in the order of the rounds.
type figures struct {
	values []float64 // texts per second, or milliseconds
	cost   []float64 // processor milliseconds of the serving processes per text
}

// Comparison is one workload on several sides.
type Comparison struct {
	title, unit string
	sides       []Side
	figures     []figures
	others      float64 // share of the machine that other programs had meanwhile
	again       int     // rounds that were taken again because others had too much of it
}

// Throughput measures texts (or pairs) per second of each side at a concurrency.
func (p Plan) Throughput(ctx context.Context, title string, concurrency int, l Load, sides []Side) (*Comparison, error) {
	return rounds(title, p.Each+"s/s", p.Rounds, sides, func(s Side) (float64, int, error) {
		if s.Own != nil {
			return s.Own.rate(ctx, s, 1, p.Period)
		}
		return l.rate(ctx, s, concurrency, p.Period)
	})
}

// Latency measures single requests of one text, one after another: the median of each round. Its rounds are short and
// many, since a fraction of a millisecond is looked for.
func (p Plan) Latency(ctx context.Context, title string, texts []string, sides []Side) (*Comparison, error) {
	return rounds(title, "ms", 4*p.Rounds, sides, func(s Side) (float64, int, error) {
		var times []float64
		for until := time.Now().Add(p.Period / 4); time.Now().Before(until); {
			i := len(times) % len(texts)
			start := time.Now()
			if err := s.Call(ctx, texts, i, i+1); err != nil {
				return 0, 0, err
			}
			times = append(times, float64(time.Since(start).Nanoseconds())/1e6)
		}
		return Median(times), len(times), nil
	})
}

// patience ends a comparison on a machine so busy that one request outlasts a period: once it is over, fewest rounds
// are enough.
const (
	patience = 100 * time.Second
	fewest   = 5
)

// A round in which other programs had more than disturbed of the machine is taken again, as often as there are rounds.
const disturbed = 0.05

// rounds measures the sides in turn, every second round in reverse, after one round that is not counted, and those in
// which others disturbed too much again. measure returns a figure and the texts served.
func rounds(title, unit string, count int, sides []Side, measure func(Side) (float64, int, error)) (*Comparison, error) {
	c := &Comparison{title: title, unit: unit, sides: sides, figures: make([]figures, len(sides))}
	fmt.Fprintf(os.Stderr, "measuring: %s\n", title)
	start := time.Now()
	var shares []float64
	for round := 0; len(shares) < count+1; round++ {
		if len(shares) > fewest && time.Since(start) > patience {
			break
		}
		before := now(sides)
		taken, err := c.round(round, measure)
		if err != nil {
			return nil, err
		}
		share := now(sides).others(before)
		if round > 0 && share > disturbed && c.again < count && time.Since(start) < patience {
			c.again++
			continue
		}
		shares = append(shares, share)
		if round == 0 {
			continue
		}
		for i := range sides {
			c.figures[i].values = append(c.figures[i].values, taken[i].values...)
			c.figures[i].cost = append(c.figures[i].cost, taken[i].cost...)
		}
	}
	c.others = Mean(shares[1:])
	return c, nil
}

// round measures each side once.
func (c *Comparison) round(number int, measure func(Side) (float64, int, error)) ([]figures, error) {
	taken := make([]figures, len(c.sides))
	for turn := range c.sides {
		i := turn
		if number%2 == 1 {
			i = len(c.sides) - 1 - turn
		}
		used := c.sides[i].Served.used()
		value, texts, err := measure(c.sides[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", c.title, c.sides[i].Name, err)
		}
		spent := c.sides[i].Served.used() - used
		taken[i] = figures{values: []float64{value},
			cost: []float64{float64(spent.Microseconds()) / 1e3 / float64(texts)}}
	}
	return taken, nil
}

// usage is processor time up to a moment.
type usage struct{ busy, all, own time.Duration }

// now counts this program and all that the sides are served by as own.
func now(sides []Side) usage {
	own := Processes{os.Getpid()}
	for _, s := range sides {
		own = append(own, s.Served...)
	}
	busy, all := machine()
	return usage{busy, all, own.used()}
}

// others is the share of the machine that other programs had since before.
func (u usage) others(before usage) float64 {
	rest := (u.busy - before.busy) - (u.own - before.own)
	return max(0, float64(rest)/float64(u.all-before.all))
}

// rate returns texts per second over one period, and how many there were.
func (l Load) rate(ctx context.Context, s Side, concurrency int, period time.Duration) (perSecond float64, texts int, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next, done atomic.Int64
	start := time.Now()
	var workers sync.WaitGroup
	for range concurrency {
		workers.Go(func() {
			for time.Since(start) < period && ctx.Err() == nil {
				lo := int(next.Add(int64(l.Size))-int64(l.Size)) % len(l.Texts)
				if err := s.Call(ctx, l.Texts, lo, lo+l.Size); err != nil {
					stop(err)
					return
				}
				done.Add(int64(l.Size))
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return 0, 0, context.Cause(ctx)
	}
	return float64(done.Load()) / time.Since(start).Seconds(), int(done.Load()), nil
}

// Mean is 0 of nothing.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / max(1, float64(len(values)))
}

// Median is the mean of the two in the middle where there are two.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
