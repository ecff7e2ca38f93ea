// Command cmaes is the Go half of scripts/bench/cmaes.py: it minimises a test function with one seed, or times
// generations, and prints one JSON object.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"math"
	"os"
	"slices"
	"time"

	"retort/orchestrator/cmaes"
)

type task struct {
	function    string
	n, lambda   int
	target      float64
	budget      int
	seed        int
	generations int
}

// result is what both halves print.
type result struct {
	Evaluations int     `json:"evaluations"`
	Reached     bool    `json:"reached"`
	Best        float64 `json:"best"`
	Median      float64 `json:"median"` // seconds that Ask and Tell take in a generation
	Mean        float64 `json:"mean"`
}

var functions = map[string]func([]float64) float64{
	"sphere": func(x []float64) (f float64) {
		for _, v := range x {
			f += v * v
		}
		return f
	},
	"ellipsoid": func(x []float64) (f float64) {
		for i, v := range x {
			f += math.Pow(1e6, float64(i)/float64(len(x)-1)) * v * v
		}
		return f
	},
}

func main() {
	var t task
	flag.StringVar(&t.function, "function", "sphere", "sphere or ellipsoid")
	flag.IntVar(&t.n, "n", 10, "dimensions")
	flag.IntVar(&t.lambda, "lambda", 10, "population")
	flag.Float64Var(&t.target, "target", 1e-8, "value to reach")
	flag.IntVar(&t.budget, "budget", 1e6, "upper bound of the evaluations")
	flag.IntVar(&t.seed, "seed", 1, "seed of the start point and of the run")
	flag.IntVar(&t.generations, "generations", 0, "if above 0, time this many generations")
	flag.Parse()
	r, err := t.run()
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		log.Fatal(err)
	}
}

// start returns the start point, with coordinates between -3 and 3: the same formula as in the Python half.
func (t task) start() []float64 {
	x := make([]float64, t.n)
	for i := range x {
		x[i] = 3 * math.Sin(1.7*float64(i+1)+float64(t.seed))
	}
	return x
}

func (t task) run() (result, error) {
	r := result{Best: math.Inf(1)}
	f, ok := functions[t.function]
	if !ok {
		return r, fmt.Errorf("no function %q", t.function)
	}
	opt, err := cmaes.New(t.start(), 1, t.lambda, uint64(t.seed))
	if err != nil {
		return r, err
	}
	values := make([]float64, t.lambda)
	var times []float64
	for !t.done(opt, &r, len(times)) {
		start := time.Now()
		population := opt.Ask()
		ask := time.Since(start)
		for i, x := range population {
			values[i] = f(x)
		}
		start = time.Now()
		if err := opt.Tell(values); err != nil {
			return r, err
		}
		times = append(times, (ask + time.Since(start)).Seconds())
		r.Evaluations += t.lambda
		r.Best = math.Min(r.Best, slices.Min(values))
		r.Reached = r.Best <= t.target
	}
	for _, seconds := range times {
		r.Mean += seconds / float64(len(times))
	}
	slices.Sort(times)
	r.Median = times[len(times)/2]
	return r, nil
}

func (t task) done(opt *cmaes.Optimizer, r *result, generations int) bool {
	if t.generations > 0 {
		return generations == t.generations
	}
	return generations > 0 && (r.Reached || r.Evaluations >= t.budget || opt.ShouldStop())
}
