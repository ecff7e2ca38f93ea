package latent

import (
	"context"
	"math"

	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
)

// A decoder that was trained to clean noisy hidden states knows molecules only: of a point between those of two it
// writes the nearer one. But where the hidden states of all molecules lie on a sphere, both ends of the line can be told
// from the point: its text gives the one, and the line from there through the point leaves the sphere at the other. So
// a client that walks from one molecule to another gets the molecules of a path between them (decision 0020).

const (
	// insideShare is the share of the sphere's radius below which a point is taken to be inside: rounding to 16 bits moves
	// a point on it by less.
	insideShare = 0.998
	// endShare is how far, as a share of the sphere's radius, a molecule's hidden state may lie from where a line leaves the
	// sphere to be its end. Two molecules that differ in one atom are farther apart.
	endShare = 0.1
	// leastShare is the share of the way to the other end before which a point is the molecule that it decodes to.
	leastShare = 0.005
)

// chord is a line through the sphere between the hidden states of two molecules, and a point on it.
type chord struct {
	row         int // of the point
	first, last search.Seed
	share       float64 // of the way from first to last, from 0 to 1
}

// between puts a molecule of the path between two others in the place of each text whose point lies on the line between
// the two. What a point gives does not depend on the points beside it.
func between(ctx context.Context, model Model, points []search.Point, texts []string) error {
	chords, err := chordsOf(ctx, model, points, texts)
	if err != nil {
		return err
	}
	paths := map[[2]string]*search.Path{}
	for _, c := range chords {
		if c.last.SMILES < c.first.SMILES { // one path for both directions
			c.first, c.last = c.last, c.first
			c.share = 1 - c.share
		}
		pair := [2]string{c.first.SMILES, c.last.SMILES}
		if paths[pair] == nil {
			if paths[pair], err = search.NewPath(ctx, model, c.first, c.last); err != nil {
				return err
			}
		}
		texts[c.row] = paths[pair].At(c.share)
	}
	return nil
}

// chordsOf finds the points inside the sphere that lie between two molecules.
func chordsOf(ctx context.Context, model Model, points []search.Point, texts []string) ([]chord, error) {
	radius := model.Space().Length
	var rows []int
	var near []string
	for i, p := range points {
		if length(p.Hidden) < insideShare*radius {
			rows = append(rows, i)
			near = append(near, texts[i])
		}
	}
	firsts, err := seedsOf(ctx, model, near)
	if err != nil {
		return nil, err
	}
	var chords []chord
	var ends []search.Point
	for k, i := range rows {
		first := firsts[near[k]]
		if first.Hidden == nil {
			continue
		}
		end, share := chordEnd(first.Hidden, points[i].Hidden)
		if share < leastShare {
			continue
		}
		chords = append(chords, chord{row: i, first: first, share: share})
		ends = append(ends, search.Point{Hidden: end})
	}
	if len(chords) == 0 {
		return nil, nil
	}
	far, err := model.Decode(ctx, ends)
	if err != nil {
		return nil, err
	}
	lasts, err := seedsOf(ctx, model, far)
	if err != nil {
		return nil, err
	}
	found := chords[:0]
	for k, c := range chords {
		c.last = lasts[far[k]]
		if c.last.Hidden != nil && c.last.SMILES != c.first.SMILES && distance(c.last.Hidden, ends[k].Hidden) < endShare*radius {
			found = append(found, c)
		}
	}
	return found, nil
}

// seedsOf gives each text that is a molecule which the model reads as a seed with its hidden state.
func seedsOf(ctx context.Context, model Model, texts []string) (map[string]search.Seed, error) {
	seeds := map[string]search.Seed{}
	var distinct []string
	for _, text := range texts {
		if _, known := seeds[text]; !known {
			seeds[text] = search.Seed{}
			distinct = append(distinct, text)
		}
	}
	g := given{model: model}
	if err := g.read(ctx, distinct, func(int, *fault.Error) {}); err != nil {
		return nil, err
	}
	if err := g.encode(ctx); err != nil {
		return nil, err
	}
	for k, i := range g.rows {
		seeds[distinct[i]] = g.seeds[k]
	}
	return seeds, nil
}

// chordEnd is where the line from a point on a sphere around zero, through another point inside, leaves the sphere, and the
// share of the way there at which the other point lies; 0 if it is the first point.
func chordEnd(start, through []float32) (end []float32, share float64) {
	var along, square float64 // of the way from start to through: its product with start, and its squared length
	for i, s := range start {
		d := float64(through[i]) - float64(s)
		along += float64(s) * d
		square += d * d
	}
	if square == 0 || along >= 0 {
		return nil, 0
	}
	farther := -2 * along / square // how many times as far the end is
	end = make([]float32, len(start))
	for i, s := range start {
		end[i] = s + float32(farther*(float64(through[i])-float64(s)))
	}
	return end, 1 / farther
}

// distance is the Euclidean distance of two hidden states.
func distance(a, b []float32) float64 {
	square := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		square += d * d
	}
	return math.Sqrt(square)
}

// length is the Euclidean length of a hidden state.
func length(a []float32) float64 {
	square := 0.0
	for _, v := range a {
		square += float64(v) * float64(v)
	}
	return math.Sqrt(square)
}
