// Package comparison measures several servers side by side in one run. The rounds alternate between them, so that a
// change of the machine's speed affects all alike. It prints medians with the lowest and highest value, and the ratios
// by round.
//
//   - A side is a server, or another way to run the model.
//   - A load is the texts that all sides compute.
//   - A round measures each side once, for one period.
//   - A disturbed round is one in which other programs used much of the machine; it is repeated.
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

// Call sends texts[lo:hi] of a load as one request.
type Call func(ctx context.Context, texts []string, lo, hi int) error

// Side is what is measured.
type Side struct {
	Name   string
	Call   Call
	Served Processes // do the work
	Goal   Goal      // for the ratio of the first side to this one
	// Sequential, if not nil, replaces the load that all sides share: its requests are made one at a time.
	Sequential *Load
}

// Load is texts in requests of Size texts.
type Load struct {
	Texts []string
	Size  int
}

// Requests returns texts as a load, without those that do not fill a request.
func Requests(texts []string, size int) Load { return Load{texts[:len(texts)/size*size], size} }

// Plan says how much is measured.
type Plan struct {
	Rounds int           // after one that is not counted
	Period time.Duration // of one side in a round
	Unit   string        // of work: "text" or "pair"
}

// figures are what the rounds of one side gave, in the order of the rounds.
type figures struct {
	values    []float64 // units of work per second, or milliseconds
	latencies []float64 // milliseconds of a request: the median of a round
	cost      []float64 // processor milliseconds of the serving processes per unit of work
}

// sample is what one side gave in one round.
type sample struct {
	value   float64 // units of work per second, or milliseconds
	latency float64 // milliseconds of a request: the median
	units   int     // of work
}

// Comparison is one load on several sides.
type Comparison struct {
	title, unit string
	sides       []Side
	figures     []figures
	others      float64 // average share of the machine that other programs used
	repeated    int     // disturbed rounds
}

// Throughput measures the units of work per second of each side, with that many requests at once.
func (p Plan) Throughput(ctx context.Context, title string, concurrency int, l Load, sides []Side) (*Comparison,
	error) {
	return rounds(title, p.Unit+"s/s", p.Rounds, sides, func(s Side) (sample, error) {
		if s.Sequential != nil {
			return s.Sequential.rate(ctx, s, 1, p.Period)
		}
		return l.rate(ctx, s, concurrency, p.Period)
	})
}

// Latency measures requests of one text, one after another; a round gives their median. The rounds are short and many,
// since differences are fractions of a millisecond.
func (p Plan) Latency(ctx context.Context, title string, texts []string, sides []Side) (*Comparison, error) {
	return rounds(title, "ms", 4*p.Rounds, sides, func(s Side) (sample, error) {
		var times []float64
		for until := time.Now().Add(p.Period / 4); time.Now().Before(until); {
			i := len(times) % len(texts)
			start := time.Now()
			if err := s.Call(ctx, texts, i, i+1); err != nil {
				return sample{}, err
			}
			times = append(times, milliseconds(time.Since(start)))
		}
		return sample{value: Median(times), latency: Median(times), units: len(times)}, nil
	})
}

const (
	// After patience a comparison ends once it has fewestRounds: on a very busy machine one request outlasts a period.
	patience     = 100 * time.Second
	fewestRounds = 5
	// disturbed is the share of the machine above which a round is repeated, at most as often as there are rounds.
	disturbed = 0.05
)

// rounds measures the sides in turn, in reverse order in every second round. The first round is not counted.
func rounds(title, unit string, count int, sides []Side, measure func(Side) (sample, error)) (*Comparison, error) {
	c := &Comparison{title: title, unit: unit, sides: sides, figures: make([]figures, len(sides))}
	fmt.Fprintf(os.Stderr, "measuring: %s\n", title)
	start := time.Now()
	var shares []float64
	for round := 0; len(shares) < count+1; round++ {
		if len(shares) > fewestRounds && time.Since(start) > patience {
			break
		}
		before := now(sides)
		taken, err := c.round(round, measure)
		if err != nil {
			return nil, err
		}
		share := now(sides).Others(before)
		if round > 0 && share > disturbed && c.repeated < count && time.Since(start) < patience {
			c.repeated++
			continue
		}
		shares = append(shares, share)
		if round == 0 {
			continue
		}
		for i := range sides {
			c.figures[i].values = append(c.figures[i].values, taken[i].values...)
			c.figures[i].latencies = append(c.figures[i].latencies, taken[i].latencies...)
			c.figures[i].cost = append(c.figures[i].cost, taken[i].cost...)
		}
	}
	c.others = mean(shares[1:])
	return c, nil
}

// round measures each side once.
func (c *Comparison) round(number int, measure func(Side) (sample, error)) ([]figures, error) {
	taken := make([]figures, len(c.sides))
	for turn := range c.sides {
		i := turn
		if number%2 == 1 {
			i = len(c.sides) - 1 - turn
		}
		used := c.sides[i].Served.Used()
		got, err := measure(c.sides[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", c.title, c.sides[i].Name, err)
		}
		spent := c.sides[i].Served.Used() - used
		cost := milliseconds(spent) / float64(got.units)
		taken[i] = figures{values: []float64{got.value}, latencies: []float64{got.latency}, cost: []float64{cost}}
	}
	return taken, nil
}

// Usage is the processor time up to a moment: of all programs, what the machine had, and of the measurement.
type Usage struct{ busy, available, measurement time.Duration }

// Now reads the usage; this program and the given processes are the measurement.
func Now(processes Processes) Usage {
	busy, available := machine()
	return Usage{busy, available, append(Processes{os.Getpid()}, processes...).Used()}
}

// now reads the usage of a comparison of sides.
func now(sides []Side) Usage {
	var processes Processes
	for _, s := range sides {
		processes = append(processes, s.Served...)
	}
	return Now(processes)
}

// Others returns the share of the machine that other programs used since before.
func (u Usage) Others(before Usage) float64 {
	others := (u.busy - before.busy) - (u.measurement - before.measurement)
	return max(0, float64(others)/float64(u.available-before.available))
}

// rate measures the texts per second over one period.
func (l Load) rate(ctx context.Context, s Side, concurrency int, period time.Duration) (sample, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var next atomic.Int64
	times := make([][]float64, concurrency) // of each worker's requests
	start := time.Now()
	var workers sync.WaitGroup
	for w := range times {
		workers.Go(func() {
			for time.Since(start) < period && ctx.Err() == nil {
				lo := int(next.Add(int64(l.Size))-int64(l.Size)) % len(l.Texts)
				sent := time.Now()
				if err := s.Call(ctx, l.Texts, lo, lo+l.Size); err != nil {
					stop(err)
					return
				}
				times[w] = append(times[w], milliseconds(time.Since(sent)))
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return sample{}, context.Cause(ctx)
	}
	took := slices.Concat(times...)
	texts := len(took) * l.Size
	return sample{value: float64(texts) / time.Since(start).Seconds(), latency: Median(took), units: texts}, nil
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// mean returns 0 for no values.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / max(1, float64(len(values)))
}

// Median returns the middle value, or the mean of the two middle ones.
func Median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
