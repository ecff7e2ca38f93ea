package latent

import (
	"context"

	"retort/orchestrator/objective"
	"retort/orchestrator/unfinished"
)

// Generate returns molecules from each seed, best first. If the work ends early with an unfinished.Reason, the answer
// has the molecules so far.
func (s *Service) Generate(ctx context.Context, r Generate) (Generated, error) {
	return s.generate(ctx, r, func(Progress) error { return nil })
}

// Stream is Generate with progress: it sends a Progress per iteration and seed, then the Generated. An error of send
// ends the searches.
func (s *Service) Stream(ctx context.Context, r Generate, send func(any) error) error {
	answer, err := s.generate(ctx, r, func(p Progress) error { return send(p) })
	if err != nil {
		return err
	}
	return send(answer)
}

func (s *Service) generate(ctx context.Context, r Generate, send func(Progress) error) (Generated, error) {
	searches, err := s.prepare(ctx, r, send)
	if err != nil {
		return Generated{}, err
	}
	work, end := unfinished.Begin(ctx)
	defer end()
	finalContext, endFinal := unfinished.BeginScoring(ctx, work)
	defer endFinal()
	err = searches.run(work, finalContext)
	explanation, err := unfinished.Explain(ctx, work, err, searches.hasNews())
	if err != nil {
		return Generated{}, err
	}
	answer := searches.answer(s.config.Generated, explanation)
	return answer, searches.target.addValues(ctx, searches.shown)
}

// prepare reads the objective and the seeds of a request. Before anything is computed, it checks that the oracles
// answer and may score as many molecules as the request may evaluate.
func (s *Service) prepare(ctx context.Context, r Generate, send func(Progress) error) (*searches, error) {
	model, err := s.model(r.Model)
	if err != nil {
		return nil, err
	}
	target, err := openTarget(r, s.oracles.For(ctx), model.Seen(), s.planner.NewSearch())
	if err != nil {
		return nil, err
	}
	known, err := objective.ReadKnown(ctx, r.Known, r.SkipInvalid)
	if err != nil {
		return nil, err
	}
	target.useKnown(known)
	seeds, err := readSeeds(ctx, model, r.Smi.Smiles, r.Smi.path)
	if err == nil && !r.skips(len(seeds.list)) {
		err = seeds.problems.Err()
	}
	if err == nil {
		err = seeds.encode(ctx)
	}
	if err != nil {
		return nil, err
	}
	err = target.checkOracles(func(o *objective.Objective) error {
		return s.oracles.Check(ctx, o, r.maxEvaluations())
	})
	if err != nil {
		return nil, err
	}
	return newSearches(r, seeds, target, send), nil
}
