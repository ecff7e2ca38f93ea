package search

import "context"

// fillShare is the share of the iterations, at the end, that look for more molecules instead of better ones, as long as
// fewer have been found than were asked for.
const fillShare = 0.6

// fills reports whether an iteration does so.
func (o *optimizer) fills(iteration int) bool {
	last := float64(iteration) > float64(o.Iterations)*(1-fillShare)
	return iteration > 1 && last && len(o.hallOfFame.best) < o.Molecules
}

// fill makes points around the seed and the molecules found so far, as many as a generation has: not to improve, but to
// find more molecules that meet the constraint.
func (o *optimizer) fill(ctx context.Context, iteration int) error {
	centres, err := o.centres(ctx)
	if err != nil {
		return err
	}
	for remaining := o.due(iteration, 0); remaining > 0; remaining -= pointsAtOnce {
		points, err := o.around(ctx, centres, min(remaining, pointsAtOnce))
		if err != nil {
			return err
		}
		if _, _, err := o.evaluate(ctx, points); err != nil {
			return err
		}
	}
	return nil
}

// centres are the seed and the molecules found so far, each with its tokens and hidden state.
func (o *optimizer) centres(ctx context.Context) ([]parent, error) {
	centres := []parent{o.origin}
	var rows [][]int32
	for _, m := range o.hallOfFame.best {
		if tokens, err := o.Model.Tokens(m.SMILES); err == nil {
			rows = append(rows, tokens)
		}
	}
	hiddens, err := o.Model.Encode(ctx, rows)
	if err != nil {
		return nil, err
	}
	for i, hidden := range hiddens {
		centres = append(centres, parent{tokens: rows[i], hidden: hidden})
	}
	return centres, nil
}

// around makes points around molecules drawn from centres. Half of them lie anywhere within scaled radius 1 of the
// hidden state; the others are the hidden state of the text after an edit, which finds more at a similarity of 0.7.
// Every other point is decoded with tokens drawn.
func (o *optimizer) around(ctx context.Context, centres []parent, count int) ([]Point, error) {
	points := make([]Point, count)
	var texts [][]int32
	for i := range points {
		centre := centres[o.Random.IntN(len(centres))]
		if i%4 < 2 {
			points[i].Hidden = o.Model.Space().near(centre.hidden, o.Random.Float64(), o.Random)
		} else {
			texts = append(texts, edit(centre.tokens, o.Model.TextTokens(), o.Random))
		}
		if i%2 == 1 {
			points[i].Temperature = 1
			points[i].Seed = o.Random.Int64()
		}
	}
	hiddens, err := o.Model.Encode(ctx, texts)
	if err != nil {
		return nil, err
	}
	for i := range points {
		if points[i].Hidden == nil {
			points[i].Hidden = hiddens[0]
			hiddens = hiddens[1:]
		}
	}
	return points, nil
}
