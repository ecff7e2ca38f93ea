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

// generation is the work of one request: turns of drawing rows from templates, having the model fill their masks, and
// reading molecules.
type generation struct {
	model    Model
	drafter  *drafter
	request  Request
	template *Template
	seed     uint64
	facts    chem.Facts // what is computed of each molecule
	scorer   *scorer
	report   func(Progress) error // nil without a stream

	// last is the context in which rows that were unmasked are read and scored when that of the work has ended.
	last context.Context

	starts []*candidate // molecules that the rounds start from, in place of a first generation

	turns int // taken so far: no two use the same random numbers
	drawn int // rows of all turns

	mu       sync.Mutex // guards progress and calls of report
	progress Progress
}

// run generates, and remasks for as many rounds as asked. The result is ranked. Beside an error, the end of ctx among
// them, comes what was found until then.
func (g *generation) run(ctx context.Context) ([]*candidate, error) {
	wanted := int(g.request.NumMolecules)
	g.progress = Progress{Status: "running", Rounds: int(g.request.Rounds)}
	err := g.readStarts(ctx)
	found := g.starts
	if len(g.request.Smi) == 0 && err == nil {
		found, err = g.first(ctx, wanted)
	}
	if g.request.Rounds > 0 && err == nil {
		err = g.checkpoint(found[:min(wanted, len(found))])
	}
	if g.request.Rounds > 0 && err == nil {
		found, err = g.remask(ctx, found, wanted)
	}
	rank(found)
	return found[:min(wanted, len(found))], err
}

// isNew reports whether the answer would show anything that the client does not know. The molecules that the request
// gave to start from are something where an objective of the client's own has scored them.
func (g *generation) isNew(found []*candidate, scorer *scorer) bool {
	drawn := func(c *candidate) bool { return g.request.Objective != nil || !slices.Contains(g.starts, c) }
	return slices.ContainsFunc(found, drawn) || bool(g.request.Evaluated) && len(scorer.evaluated()) > len(g.starts)
}

// first draws from the template of the request, and again, as often as asked, for what is missing: rows that are no
// molecule as the model wrote them, and repeated molecules where they are not wanted. Repaired molecules fill the
// places that are still empty in the end. Beside an error comes what was found until then.
func (g *generation) first(ctx context.Context, wanted int) (found []*candidate, err error) {
	unique := bool(g.request.Unique) || g.request.Rounds > 0
	var asWritten, repaired []*candidate
	for range g.request.Attempts {
		missing := wanted - len(asWritten)
		var more []*candidate
		more, err = g.turn(ctx, slices.Repeat([]*Template{g.template}, missing), g.template.spares())
		for _, c := range more {
			if c.asWritten {
				asWritten = append(asWritten, c)
			} else {
				repaired = append(repaired, c)
			}
		}
		if unique {
			asWritten = distinct(asWritten)
		}
		if err != nil || len(asWritten) == wanted {
			break
		}
	}
	found = append(asWritten, repaired...)
	if unique {
		found = distinct(found)
	}
	return found[:min(wanted, len(found))], err
}

// turn draws so many rows for each template, and reads what the model makes of the one of them that is nearest to it.
// Beside an error come the molecules of the rows that were unmasked before.
func (g *generation) turn(ctx context.Context, templates []*Template, spares int) ([]*candidate, error) {
	drafts, err := g.drafter.drafts(ctx, withSpares(templates, spares, g.seed, g.turns), g.seed, g.turns)
	if err != nil {
		return nil, err
	}
	for i, d := range drafts {
		d.group = i / spares
	}
	g.turns++
	g.drawn += len(drafts)
	g.progress.Requested += len(templates)
	if err := g.tell(0, nil); err != nil {
		return nil, err
	}
	request := telemetry.FromContext(ctx)
	request.AddRows(len(drafts))
	for _, d := range drafts {
		request.AddTokens(len(d.row.IDs))
	}
	return g.unmask(ctx, drafts)
}

// streamedRows is after how many rows a stream reports progress.
const streamedRows = 16

// unmask has the model fill the masks: of all rows at once or, for a stream, in parts, which still share calls to
// Triton.
func (g *generation) unmask(ctx context.Context, drafts []*draft) ([]*candidate, error) {
	size := max(1, len(drafts))
	if g.report != nil {
		size = streamedRows
	}
	parts := slices.Collect(slices.Chunk(drafts, size))
	found := make([][]*candidate, len(parts))
	work, ctx := errgroup.WithContext(ctx)
	for i, part := range parts {
		work.Go(fault.Guard(func() (err error) {
			found[i], err = g.unmaskPart(ctx, part)
			return err
		}))
	}
	err := work.Wait()
	return slices.Concat(found...), err
}

// unmaskPart reads the rows that were unmasked, also of a call that failed.
func (g *generation) unmaskPart(ctx context.Context, drafts []*draft) ([]*candidate, error) {
	rows := make([]Row, len(drafts))
	for i, d := range drafts {
		rows[i] = d.row
	}
	filled, failed := g.model.Unmask(ctx, rows)
	drafts, filled = unmasked(drafts, filled)
	taken, filled := nearest(g.model, drafts, filled)
	found, err := g.read(g.last, taken, filled)
	told := g.tell(len(taken), found)
	return found, cmp.Or(failed, err, told)
}

// unmasked are the rows that a model has filled, with their drafts: all of them unless it failed.
func unmasked(drafts []*draft, filled [][]int32) (read []*draft, rows [][]int32) {
	for i, row := range filled {
		if row != nil {
			read = append(read, drafts[i])
			rows = append(rows, row)
		}
	}
	return read, rows
}

// checkpoint reports what has been found at the end of a round, where that is asked for.
func (g *generation) checkpoint(found []*candidate) error {
	if g.report == nil || !g.request.Checkpoints {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	progress := g.progress
	progress.Found = g.answer(found)
	return g.report(progress)
}

// tell adds to the progress how many rows were unmasked and taken and the molecules read from them, and reports it.
func (g *generation) tell(rows int, more []*candidate) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.progress.Generated += rows
	g.progress.Valid += len(more)
	for _, c := range more {
		if score := g.scorer.shown(c.score); g.progress.Best == nil || score > *g.progress.Best {
			g.progress.Best = &score
		}
	}
	if g.report == nil {
		return nil
	}
	return g.report(g.progress)
}
