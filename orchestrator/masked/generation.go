package masked

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
)

// generation is the work of one request. It runs passes. A pass draws rows from templates, unmasks them, and reads and
// scores their molecules.
type generation struct {
	model    Model
	drafter  *drafter
	request  Request
	template *Template
	seed     uint64
	facts    chem.Facts // computed for each molecule
	scorer   *scorer
	report   func(Progress) error // nil without a stream

	// finalContext is for reading and scoring the rows that were unmasked when the context of the work ended.
	finalContext context.Context

	warmStarts []*candidate // replace the first generation

	passes int // so far; each has its own random numbers
	drawn  int // rows of all passes

	mu       sync.Mutex // guards progress and calls of report
	progress Progress
}

// run returns at most NumMolecules molecules, ranked; with an error, those found so far.
func (g *generation) run(ctx context.Context) ([]*candidate, error) {
	count := int(g.request.NumMolecules)
	g.progress = Progress{Status: "running", Rounds: int(g.request.Rounds)}
	found, err := g.start(ctx, count)
	if err == nil && g.request.Rounds > 0 {
		found, err = g.continueInRounds(ctx, found, count)
	}
	rank(found)
	return found[:min(count, len(found))], err
}

// start returns the warm starts or, if the request has none, the first generation.
func (g *generation) start(ctx context.Context, count int) ([]*candidate, error) {
	if len(g.request.Smi) == 0 {
		return g.firstGeneration(ctx, count)
	}
	err := g.readWarmStarts(ctx)
	return g.warmStarts, err
}

// continueInRounds reports the molecules that the rounds start from, and runs the rounds.
func (g *generation) continueInRounds(ctx context.Context, found []*candidate, count int) ([]*candidate, error) {
	if err := g.checkpoint(found[:min(count, len(found))]); err != nil {
		return found, err
	}
	return g.remask(ctx, found, count)
}

// hasNews reports whether the answer would have a molecule or a score that the client does not know. It knows the warm
// starts, and their scores unless the request has an objective.
func (g *generation) hasNews(answer []*candidate) bool {
	isNew := func(c *candidate) bool { return g.request.Objective != nil || !slices.Contains(g.warmStarts, c) }
	return slices.ContainsFunc(answer, isNew) ||
		bool(g.request.Evaluated) && len(g.scorer.evaluatedMolecules()) > len(g.warmStarts)
}

// firstGeneration draws from the template of the request. It draws again for missing molecules, up to Request.Attempts
// times in all. Missing are rows without a molecule that the sampler accepts and, if molecules must be unique,
// duplicates. Other molecules fill the places that are empty after all attempts.
func (g *generation) firstGeneration(ctx context.Context, count int) (found []*candidate, err error) {
	unique := bool(g.request.Unique) || g.request.Rounds > 0
	sampler := g.model.sampler()
	var accepted, others []*candidate
	for range g.request.Attempts {
		missing := slices.Repeat([]*Template{g.template}, count-len(accepted))
		var drawn []*candidate
		drawn, err = g.pass(ctx, missing, sampler.oversampling(g.template))
		for _, c := range drawn {
			if sampler.accepts(c) {
				accepted = append(accepted, c)
			} else {
				others = append(others, c)
			}
		}
		if unique {
			accepted = distinct(accepted)
		}
		if err != nil || len(accepted) == count {
			break
		}
	}
	found = append(accepted, others...)
	if unique {
		found = distinct(found)
	}
	found = found[:min(count, len(found))]
	if err == nil && g.request.complete {
		found, err = g.drawMissing(ctx, found, unique)
	}
	return found, err
}

// pass draws oversampling rows for each template, unmasks them, and returns the molecules of the nearestRows.
func (g *generation) pass(ctx context.Context, templates []*Template, oversampling int) ([]*candidate, error) {
	drafts, err := g.drafter.drafts(ctx, oversample(templates, oversampling, g.seed, g.passes), g.seed, g.passes)
	if err != nil {
		return nil, err
	}
	for i, d := range drafts {
		d.group = i / oversampling
	}
	g.passes++
	g.drawn += len(drafts)
	g.progress.Requested += len(templates)
	if err := g.addProgress(0, nil); err != nil {
		return nil, err
	}
	request := telemetry.FromContext(ctx)
	request.AddRows(len(drafts))
	for _, d := range drafts {
		request.AddTokens(len(d.row.IDs))
	}
	return g.unmask(ctx, drafts)
}

// streamedRows is the number of rows per progress event of a stream.
const streamedRows = 16

// unmask returns the molecules of unmasked drafts. For a stream it unmasks in parts, concurrently, so that they still
// share calls to Triton.
func (g *generation) unmask(ctx context.Context, drafts []*draft) ([]*candidate, error) {
	size := max(1, len(drafts))
	if g.report != nil {
		size = streamedRows
	}
	parts := slices.Collect(slices.Chunk(drafts, size))
	candidates := make([][]*candidate, len(parts))
	group, ctx := errgroup.WithContext(ctx)
	for i, part := range parts {
		group.Go(fault.WithRecover(func() (err error) {
			candidates[i], err = g.unmaskPart(ctx, part)
			return err
		}))
	}
	err := group.Wait()
	all := slices.Concat(candidates...)
	g.scorer.note(all)
	return all, err
}

// unmaskPart returns the molecules of some drafts. If the model fails, it reads the rows unmasked before the failure.
func (g *generation) unmaskPart(ctx context.Context, drafts []*draft) ([]*candidate, error) {
	rows := make([]Row, len(drafts))
	for i, d := range drafts {
		rows[i] = d.row
	}
	answers, modelErr := g.model.Unmask(ctx, rows)
	var unmasked []*draft
	var ids [][]int32
	for i, answer := range answers {
		if answer != nil {
			unmasked = append(unmasked, drafts[i])
			ids = append(ids, answer)
		}
	}
	nearest, ids := nearestRows(g.model, unmasked, ids)
	candidates, readErr := g.read(g.finalContext, nearest, ids)
	reportErr := g.addProgress(len(nearest), candidates)
	return candidates, cmp.Or(modelErr, readErr, reportErr)
}

// checkpoint reports the best molecules so far, if the request asks for checkpoints.
func (g *generation) checkpoint(best []*candidate) error {
	if g.report == nil || !g.request.Checkpoints {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	progress := g.progress
	progress.Found = g.molecules(best)
	return g.report(progress)
}

// addProgress adds unmasked rows and their molecules to the progress, and reports it.
func (g *generation) addProgress(rows int, candidates []*candidate) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.progress.Generated += rows
	g.progress.Valid += len(candidates)
	for _, c := range candidates {
		if score := g.scorer.displayed(c.score); g.progress.Best == nil || score > *g.progress.Best {
			g.progress.Best = &score
		}
	}
	if g.report == nil {
		return nil
	}
	return g.report(g.progress)
}
