package latent

import (
	"context"
	"math"
	"math/rand/v2"

	"retort/orchestrator/cmaes"
)

// The search's settings, chosen on molecules that no published figure is
// measured on.
const (
	// firstSigma is the step size at the start, in standard deviations of the
	// training molecules.
	firstSigma = 0.5
	// patience is how many generations without a better molecule end a run of
	// CMA-ES; the next starts at one of the best.
	patience = 6
	// elite is from how many of the best a restart chooses.
	elite = 8
	// lastPart of the iterations goes to sampling around the best when fewer
	// molecules have been found than were asked for.
	lastPart = 0.2
)

// search is the optimisation of one seed.
type search struct {
	model   Model
	random  *rand.Rand
	request Generate
	jury    jury
	podium  podium

	run         *cmaes.Optimizer
	best        float64 // merit of this run
	idle        int     // generations since it rose
	evaluations int
}

func newSearch(model Model, r Generate, g *goal, s seed, random *rand.Rand) *search {
	return &search{
		model: model, random: random, request: r, jury: jury{goal: g, seed: s},
		podium: podium{goal: g, most: max(r.NumMolecules, elite)},
	}
}

// optimize runs the iterations. All decode particles hidden states, so that
// particles times iterations is what a request costs.
func (s *search) optimize(ctx context.Context, watch func(iteration, evaluations int, best *candidate) error) ([]*candidate, error) {
	if err := s.start(s.jury.seed.hidden, firstSigma); err != nil {
		return nil, err
	}
	for i := 1; i <= s.request.Iterations; i++ {
		var err error
		if s.wanting(i) {
			err = s.fill(ctx)
		} else {
			err = s.generation(ctx)
		}
		if err != nil {
			return nil, err
		}
		var best *candidate
		if len(s.podium.best) > 0 {
			best = s.podium.best[0]
		}
		if err := watch(i, s.evaluations, best); err != nil {
			return nil, err
		}
	}
	return s.podium.best[:min(len(s.podium.best), s.request.NumMolecules)], nil
}

// start begins a run of CMA-ES. At the size of a latent space the full
// covariance would learn nothing in so few generations. Decoding is a step
// function, so equal values say nothing about the end of a search: the
// criteria that look for them are off.
func (s *search) start(hidden []float32, sigma float64) (err error) {
	s.best, s.idle = math.Inf(-1), 0
	s.run, err = cmaes.New(s.model.Space().whiten(hidden), sigma, cmaes.Separable(), cmaes.Population(s.request.Particles),
		cmaes.Seed(s.random.Uint64()), cmaes.StopAt(cmaes.Criteria{Flat: -1, Fun: -1, FunHistory: -1, Stagnation: -1, Iterations: -1}))
	return err
}

// generation is one iteration of CMA-ES, and a restart where it led nowhere.
func (s *search) generation(ctx context.Context) error {
	population := s.run.Ask()
	points := make([]Point, len(population))
	for i, x := range population {
		points[i].Hidden = s.model.Space().colour(x)
	}
	candidates, err := s.evaluate(ctx, points)
	if err != nil {
		return err
	}
	values := make([]float64, len(candidates))
	s.idle++
	for i, c := range candidates {
		values[i] = math.Inf(1)
		if c == nil {
			continue
		}
		merit := s.jury.goal.merit(c.score, c.similarity)
		values[i] = -merit
		if merit > s.best {
			s.best, s.idle = merit, 0
		}
	}
	if err := s.run.Tell(population, values); err != nil {
		return s.restart(ctx)
	}
	if _, over := s.run.Stop(); over || s.idle >= patience {
		return s.restart(ctx)
	}
	return nil
}

// evaluate decodes points in one go and keeps what meets the constraint. The
// seed itself is no result.
func (s *search) evaluate(ctx context.Context, points []Point) ([]*candidate, error) {
	texts, err := s.model.Decode(ctx, points)
	if err != nil {
		return nil, err
	}
	s.evaluations += len(points)
	candidates, err := s.jury.judge(ctx, texts)
	if err != nil {
		return nil, err
	}
	for _, c := range candidates {
		if c != nil && c.similarity >= s.jury.goal.floor && c.smiles != s.jury.seed.smiles {
			s.podium.add(c)
		}
	}
	return candidates, nil
}

// restart begins a run at one of the best molecules, encoded anew: the code of
// a molecule lies deeper in its region than the point that decoded to it.
func (s *search) restart(ctx context.Context) error {
	hidden, err := s.centre(ctx)
	if err != nil {
		return err
	}
	return s.start(hidden, firstSigma*(0.5+s.random.Float64()))
}

// centre is the hidden state of one of the best molecules, or of the seed.
func (s *search) centre(ctx context.Context) ([]float32, error) {
	n := min(len(s.podium.best), elite)
	if n == 0 {
		return s.jury.seed.hidden, nil
	}
	ids, problem := s.model.Tokens(s.podium.best[s.random.IntN(n)].smiles)
	if problem != nil { // its canonical form has a token that the decoded text had not
		return s.jury.seed.hidden, nil
	}
	hiddens, err := s.model.Encode(ctx, [][]int32{ids})
	if err != nil {
		return nil, err
	}
	return hiddens[0], nil
}

// wanting reports whether iteration i is one of the last, and too few
// molecules have been found.
func (s *search) wanting(i int) bool {
	last := float64(i) > float64(s.request.Iterations)*(1-lastPart)
	return i > 1 && last && len(s.podium.best) < s.request.NumMolecules
}

// fill draws as many points as a generation around the best or the seed, near
// ones and far ones, every other with tokens drawn: not to improve, but to find
// more molecules that meet the constraint.
func (s *search) fill(ctx context.Context) error {
	points := make([]Point, s.request.Particles)
	hidden, err := s.centre(ctx)
	if err != nil {
		return err
	}
	for i := range points {
		points[i].Hidden = s.model.Space().near(hidden, s.random.Float64(), s.random)
		if i%2 == 1 {
			points[i].Temperature, points[i].Seed = 1, s.random.Int64()
		}
	}
	_, err = s.evaluate(ctx, points)
	return err
}
