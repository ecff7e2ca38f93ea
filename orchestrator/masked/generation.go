package masked

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"retort/chem"
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

	starts []*candidate // molecules that the rounds start from, in place of a first generation

	turns int // taken so far: no two use the same random numbers
	drawn int // rows of all turns

	mu       sync.Mutex // guards progress and calls of report
	progress Progress
}

// run generates, and remasks for as many rounds as asked. The result is ranked.
func (g *generation) run(ctx context.Context) ([]*candidate, error) {
	wanted := int(g.request.NumMolecules)
	g.progress = Progress{Status: "running", Rounds: int(g.request.Rounds)}
	found := g.starts
	if len(g.request.Smi) == 0 {
		var err error
		if found, err = g.first(ctx, wanted); err != nil {
			return nil, err
		}
	}
	if g.request.Rounds > 0 {
		var err error
		if found, err = g.remask(ctx, found, wanted); err != nil {
			return nil, err
		}
	}
	rank(found)
	return found[:min(wanted, len(found))], nil
}

// first draws from the template of the request, and again, as often as asked, for what is missing: rows that are no
// molecule as the model wrote them, and repeated molecules where they are not wanted. Repaired molecules fill the
// places that are still empty in the end.
func (g *generation) first(ctx context.Context, wanted int) ([]*candidate, error) {
	unique := bool(g.request.Unique) || g.request.Rounds > 0
	var asWritten, repaired []*candidate
	for range g.request.Attempts {
		missing := wanted - len(asWritten)
		more, err := g.turn(ctx, slices.Repeat([]*Template{g.template}, missing))
		if err != nil {
			return nil, err
		}
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
		if len(asWritten) == wanted {
			break
		}
	}
	found := append(asWritten, repaired...)
	if unique {
		found = distinct(found)
	}
	return found[:min(wanted, len(found))], nil
}

// turn draws one row for each template, and reads what the model makes of it.
func (g *generation) turn(ctx context.Context, templates []*Template) ([]*candidate, error) {
	drafts, err := g.drafter.drafts(ctx, templates, g.seed, g.turns)
	if err != nil {
		return nil, err
	}
	g.turns++
	g.drawn += len(drafts)
	g.progress.Requested += len(drafts)
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
		work.Go(func() (err error) {
			found[i], err = g.unmaskPart(ctx, part)
			return err
		})
	}
	err := work.Wait()
	return slices.Concat(found...), err
}

func (g *generation) unmaskPart(ctx context.Context, drafts []*draft) ([]*candidate, error) {
	rows := make([]Row, len(drafts))
	for i, d := range drafts {
		rows[i] = d.row
	}
	filled, err := g.model.Unmask(ctx, rows)
	if err != nil {
		return nil, err
	}
	found, err := g.read(ctx, drafts, filled)
	if err != nil {
		return nil, err
	}
	return found, g.tell(len(drafts), found)
}

// tell adds to the progress how many rows were unmasked and the molecules read from them, and reports it.
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
