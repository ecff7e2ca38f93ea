// Command cmaes is the Go half of scripts/bench/cmaes.py: it minimises one test function with one seed, or times
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
	function          string
	n, lambda         int
	separable         bool
	sigma, target     float64
	budget, restarts  int
	seed, generations int
}

// result is what both halves print.
type result struct {
	Evaluations int     `json:"evaluations"`
	Reached     bool    `json:"reached"`
	Restarts    int     `json:"restarts"`
	Best        float64 `json:"best"`
	Seconds     float64 `json:"seconds"` // median of a generation's ask and tell
	Mean        float64 `json:"mean"`    // mean of the same
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
	"rosenbrock": func(x []float64) (f float64) {
		for i, v := range x[:len(x)-1] {
			f += 100*(v*v-x[i+1])*(v*v-x[i+1]) + (1-v)*(1-v)
		}
		return f
	},
	"rastrigin": func(x []float64) (f float64) {
		for _, v := range x {
			f += v*v + 10 - 10*math.Cos(2*math.Pi*v)
		}
		return f
	},
}

func main() {
	var t task
	flag.StringVar(&t.function, "function", "sphere", "sphere, ellipsoid, rosenbrock or rastrigin")
	flag.IntVar(&t.n, "n", 10, "dimensions")
	flag.IntVar(&t.lambda, "lambda", 0, "population, 0 for the default")
	flag.BoolVar(&t.separable, "separable", false, "diagonal covariance")
	flag.Float64Var(&t.sigma, "sigma", 1, "first step size")
	flag.Float64Var(&t.target, "target", 1e-8, "value to reach")
	flag.IntVar(&t.budget, "budget", 1e6, "evaluations, all restarts together")
	flag.IntVar(&t.restarts, "restarts", 0, "restarts allowed after a stop short of the target")
	flag.IntVar(&t.seed, "seed", 1, "seed of the start and of the run")
	flag.IntVar(&t.generations, "generations", 0, "time so many generations instead")
	flag.Parse()
	r, err := t.run()
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		log.Fatal(err)
	}
}

// start is the same formula as in the Python half: coordinates between -3 and 3.
func (t task) start(attempt int) []float64 {
	x := make([]float64, t.n)
	for i := range x {
		x[i] = 3 * math.Sin(1.7*float64(i+1)+float64(t.seed)+100*float64(attempt))
	}
	return x
}

func (t task) run() (result, error) {
	f, ok := functions[t.function]
	if !ok {
		return result{}, fmt.Errorf("no function %q", t.function)
	}
	r := result{Best: math.Inf(1)}
	var times []float64
	for attempt := 0; attempt <= t.restarts; attempt++ {
		r.Restarts = attempt
		opt, err := cmaes.New(t.start(attempt), t.sigma, t.options(attempt)...)
		if err != nil {
			return r, err
		}
		times, err = t.attempt(opt, f, times, &r)
		if err != nil {
			return r, err
		}
		if r.Reached || r.Evaluations >= t.budget || t.generations > 0 {
			break
		}
	}
	r.summarise(times)
	return r, nil
}

func (t task) options(attempt int) []cmaes.Option {
	options := []cmaes.Option{cmaes.Seed(uint64(t.seed + 1000*attempt)), cmaes.Target(t.target)}
	if t.lambda > 0 {
		options = append(options, cmaes.Population(t.lambda))
	}
	if t.separable {
		options = append(options, cmaes.Separable())
	}
	return options
}

func (t task) attempt(opt *cmaes.Optimizer, f func([]float64) float64, times []float64, r *result) ([]float64, error) {
	values := make([]float64, opt.Population())
	for r.Evaluations < t.budget {
		begin := time.Now()
		population := opt.Ask()
		asked := time.Since(begin)
		for i, x := range population {
			values[i] = f(x)
		}
		begin = time.Now()
		if err := opt.Tell(population, values); err != nil {
			return times, err
		}
		times = append(times, (asked + time.Since(begin)).Seconds())
		r.Evaluations += len(values)
		r.Best = math.Min(r.Best, slices.Min(values))
		r.Reached = r.Best <= t.target
		_, stop := opt.Stop()
		if t.generations > 0 {
			stop = len(times) >= t.generations
		}
		if stop || r.Reached {
			break
		}
	}
	return times, nil
}

func (r *result) summarise(times []float64) {
	for _, t := range times {
		r.Mean += t / float64(len(times))
	}
	slices.Sort(times)
	r.Seconds = times[len(times)/2]
}
