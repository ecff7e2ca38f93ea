package masked

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"retort/chem"
	"retort/orchestrator/telemetry"
)

// generation is the work of one request.
type generation struct {
	model    Model
	maker    *maker
	request  Request
	template *Template
	seed     uint64
	facts    chem.Facts
	score    func(*chem.Molecule) float64
	report   func(Progress) error // nil without a stream

	mu       sync.Mutex // of progress and report
	progress Progress
	turns    int // drawings made so far, so that no two use the same random numbers
	drawn    int // rows of all of them
}

// run generates, and remasks as often as asked. The result is ranked.
func (g *generation) run(ctx context.Context) ([]*candidate, error) {
	wanted := int(g.request.NumMolecules)
	g.progress = Progress{Status: "running", Rounds: int(g.request.Rounds)}
	found, err := g.first(ctx, wanted)
	if err != nil {
		return nil, err
	}
	if g.request.Rounds > 0 {
		if found, err = g.remask(ctx, found, wanted); err != nil {
			return nil, err
		}
	}
	ranked(found)
	return found[:min(wanted, len(found))], nil
}

// first draws from the template of the request, and again, as often as asked,
// for what is missing: rows that are no molecule as the model wrote them, and
// doubles where they are not wanted. What had to be mended fills the places that
// stay empty in the end.
func (g *generation) first(ctx context.Context, wanted int) ([]*candidate, error) {
	var whole, mended []*candidate
	single := func(found []*candidate) []*candidate {
		if g.request.Unique || g.request.Rounds > 0 {
			return distinct(found)
		}
		return found
	}
	for range g.request.Attempts {
		more, err := g.turn(ctx, slices.Repeat([]*Template{g.template}, wanted-len(whole)))
		if err != nil {
			return nil, err
		}
		for _, c := range more {
			if c.asWritten {
				whole = append(whole, c)
			} else {
				mended = append(mended, c)
			}
		}
		if whole = single(whole); len(whole) == wanted {
			break
		}
	}
	found := single(append(whole, mended...))
	return found[:min(wanted, len(found))], nil
}

// turn draws one row for each template and reads what comes of it.
func (g *generation) turn(ctx context.Context, templates []*Template) ([]*candidate, error) {
	drafts, err := g.maker.drafts(ctx, templates, g.seed, g.turns)
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

// streamed is how many rows a stream reports at once.
const streamed = 16

// unmask runs the model and reads what comes of it: all rows at once, or, where
// somebody watches, in parts, which still share the calls to Triton.
func (g *generation) unmask(ctx context.Context, drafts []*draft) ([]*candidate, error) {
	size := max(1, len(drafts))
	if g.report != nil {
		size = streamed
	}
	parts := slices.Collect(slices.Chunk(drafts, size))
	found := make([][]*candidate, len(parts))
	work, ctx := errgroup.WithContext(ctx)
	for i, part := range parts {
		work.Go(func() (err error) {
			found[i], err = g.part(ctx, part)
			return err
		})
	}
	err := work.Wait()
	return slices.Concat(found...), err
}

func (g *generation) part(ctx context.Context, drafts []*draft) ([]*candidate, error) {
	rows := make([]Row, len(drafts))
	for i, d := range drafts {
		rows[i] = d.row
	}
	filled, err := g.model.Unmask(ctx, rows)
	if err != nil {
		return nil, err
	}
	found, err := g.read(ctx, g.template, drafts, filled)
	if err != nil {
		return nil, err
	}
	return found, g.tell(len(drafts), found)
}

// tell reports the state of the work: rows unmasked last, and the molecules
// they gave.
func (g *generation) tell(rows int, more []*candidate) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.progress.Generated += rows
	g.progress.Valid += len(more)
	for _, c := range more {
		if score := rounded(c.score); g.progress.Best == nil || score > *g.progress.Best {
			g.progress.Best = &score
		}
	}
	if g.report == nil {
		return nil
	}
	return g.report(g.progress)
}
