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
	firstSigma = 1.0
	// patience is how many generations without a better molecule end a run of
	// CMA-ES; the next starts at one of the best.
	patience = 8
	// elite is from how many of the best a restart chooses.
	elite = 8
	// ownPart of a generation is drawn by CMA-ES, the rest is bred from the best
	// molecules so far; the best of them is injected into CMA-ES.
	ownPart = 0.1
	// most is how many times particles a generation decodes at most, to make up
	// for points that gave no new text in earlier ones.
	most = 6
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
	stock   stock
	origin  parent // the seed

	run  *cmaes.Optimizer
	best float64 // merit of this run
	idle int     // generations since it rose
}

func newSearch(model Model, r Generate, g *goal, s seed, random *rand.Rand) *search {
	return &search{
		model: model, random: random, request: r, jury: jury{goal: g, seed: s}, stock: stock{random: random},
		podium: podium{goal: g, most: max(r.NumMolecules, elite)},
	}
}

// optimize runs the iterations. Each evaluates at most particles molecules, so
// that particles times iterations bounds what a request evaluates.
func (s *search) optimize(ctx context.Context, watch func(iteration, evaluations int, best *candidate) error) ([]*candidate, error) {
	own, _, err := s.jury.judge(ctx, []string{s.jury.seed.smiles})
	if err != nil {
		return nil, err
	}
	s.origin = parent{candidate: &candidate{smiles: s.jury.seed.smiles}, merit: math.Inf(-1), ids: s.jury.seed.ids, hidden: s.jury.seed.hidden}
	if own[0] != nil {
		s.origin.candidate, s.origin.merit = own[0], s.merit(own[0])
	}
	s.stock.parents = []parent{s.origin}
	if err := s.start(s.origin, firstSigma); err != nil {
		return nil, err
	}
	for i := 1; i <= s.request.Iterations; i++ {
		var err error
		if s.wanting(i) {
			err = s.fill(ctx)
		} else {
			err = s.generation(ctx, i)
		}
		if err != nil {
			return nil, err
		}
		var best *candidate
		if len(s.podium.best) > 0 {
			best = s.podium.best[0]
		}
		if err := watch(i, s.jury.evaluations, best); err != nil {
			return nil, err
		}
	}
	return s.podium.best[:min(len(s.podium.best), s.request.NumMolecules)], nil
}

// merit is that of a candidate.
func (s *search) merit(c *candidate) float64 { return s.jury.goal.merit(c.score, c.similarity) }

// start begins a run of CMA-ES at a molecule. At the size of
// a latent space the full covariance would learn nothing in so few generations.
// Decoding is a step function, so equal values say nothing about the end of a
// search: the criteria that look for them are off.
func (s *search) start(at parent, sigma float64) (err error) {
	s.best, s.idle = math.Inf(-1), 0
	own := max(2, int(ownPart*float64(s.request.Particles)))
	s.run, err = cmaes.New(s.model.Space().whiten(at.hidden), sigma, cmaes.Separable(), cmaes.Population(own),
		cmaes.Seed(s.random.Uint64()), cmaes.StopAt(cmaes.Criteria{Flat: -1, Fun: -1, FunHistory: -1, Stagnation: -1, Iterations: -1}))
	return err
}

// generation is one iteration: points of CMA-ES and bred ones, decoded in one
// go, and a restart where it led nowhere. It has as many points as bring the
// evaluations to particles an iteration, if every text is new.
func (s *search) generation(ctx context.Context, iteration int) error {
	population := s.run.Ask()
	own, wanted := len(population), iteration*s.request.Particles-s.jury.evaluations
	bred, births, err := s.stock.breed(ctx, s.model, max(0, min(wanted, most*s.request.Particles)-own))
	if err != nil {
		return err
	}
	points := make([]Point, own, own+len(bred))
	for i, x := range population {
		points[i].Hidden = s.model.Space().colour(x)
	}
	candidates, fresh, err := s.evaluate(ctx, append(points, bred...))
	if err != nil {
		return err
	}
	s.idle++
	if err := s.bear(ctx, births, candidates, fresh, own); err != nil {
		return err
	}
	if s.tell(population, candidates[:own]) || s.idle >= patience {
		return s.restart(ctx)
	}
	return nil
}

// bear lets candidates breed; those from place own on were bred themselves. A
// new best is injected into CMA-ES.
func (s *search) bear(ctx context.Context, births []birth, candidates []*candidate, fresh []bool, own int) error {
	s.stock.learn(births, candidates[own:], fresh[own:], s.merit)
	if err := s.stock.admit(ctx, s.model, candidates, s.merit); err != nil {
		return err
	}
	if top := s.stock.parents[0]; top.merit > s.best {
		s.best, s.idle = top.merit, 0
		return s.run.Inject(s.model.Space().whiten(top.hidden))
	}
	return nil
}

// tell gives CMA-ES the values of its points, and reports whether its run is over.
func (s *search) tell(population [][]float64, candidates []*candidate) bool {
	values := make([]float64, len(candidates))
	for i, c := range candidates {
		values[i] = math.Inf(1)
		if c != nil {
			values[i] = -s.merit(c)
		}
	}
	if err := s.run.Tell(population, values); err != nil {
		return true
	}
	_, over := s.run.Stop()
	return over
}

// evaluate decodes points in one go and keeps what meets the constraint; fresh
// tells whose texts are new. The seed itself is no result.
func (s *search) evaluate(ctx context.Context, points []Point) (candidates []*candidate, fresh []bool, err error) {
	texts, err := s.model.Decode(ctx, points)
	if err != nil {
		return nil, nil, err
	}
	candidates, fresh, err = s.jury.judge(ctx, texts)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range candidates {
		if c != nil && c.similarity >= s.jury.goal.floor && c.smiles != s.jury.seed.smiles {
			s.podium.add(c)
		}
	}
	return candidates, fresh, nil
}

// restart begins a run at one of the best molecules.
func (s *search) restart(ctx context.Context) error {
	centre, err := s.centre(ctx)
	if err != nil {
		return err
	}
	return s.start(centre, firstSigma*(0.5+s.random.Float64()))
}

// centre is one of the best molecules, or the seed, encoded anew: the code of a
// molecule lies deeper in its region than the point that decoded to it.
func (s *search) centre(ctx context.Context) (parent, error) {
	n := min(len(s.podium.best), elite)
	if n == 0 {
		return s.origin, nil
	}
	chosen := s.podium.best[s.random.IntN(n)]
	ids, problem := s.model.Tokens(chosen.smiles)
	if problem != nil { // its canonical form has a token that the decoded text had not
		return s.origin, nil
	}
	hiddens, err := s.model.Encode(ctx, [][]int32{ids})
	if err != nil {
		return parent{}, err
	}
	return parent{candidate: chosen, merit: s.merit(chosen), ids: ids, hidden: hiddens[0]}, nil
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
	centre, err := s.centre(ctx)
	if err != nil {
		return err
	}
	for i := range points {
		points[i].Hidden = s.model.Space().near(centre.hidden, s.random.Float64(), s.random)
		if i%2 == 1 {
			points[i].Temperature, points[i].Seed = 1, s.random.Int64()
		}
	}
	_, _, err = s.evaluate(ctx, points)
	return err
}
