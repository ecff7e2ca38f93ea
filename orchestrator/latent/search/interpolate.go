package search

import (
	"context"
	"math"
	"slices"

	"retort/chem"
)

// A decoder that was trained to denoise hidden states decodes a point between two molecules to the nearer one. If all
// hidden states lie on a sphere, such a point determines both: it decodes to the first, and the line from the first
// through the point leaves the sphere at the second. So a client that moves along the line gets the molecules of a path
// between the two (decision 0020).

const (
	// maxInsideShare is the share of the sphere's radius below which a point is inside. Rounding to 16 bits moves a
	// point on the sphere by less.
	maxInsideShare = 0.998
	// maxEndShare is the largest distance, as a share of the sphere's radius, between the place where a line leaves the
	// sphere and the hidden state of the molecule at its end. Two molecules that differ in one atom are farther apart.
	maxEndShare = 0.1
	// minChordShare is the least share of a chord at which a point is replaced by a molecule of the path.
	minChordShare = 0.005
)

// chord is a line through the sphere between the hidden states of two molecules, and a point on it.
type chord struct {
	row   int       // of the point
	first Seed      // the molecule that the point decodes to
	end   []float32 // where the line from first through the point leaves the sphere
	last  Seed      // the molecule at end
	share float64   // of the line from first to last at which the point lies, from 0 to 1
}

// Interpolate replaces the text of each point that lies on the line between two molecules by a molecule of the path
// between the two. texts holds the decoded text of each point. The result of a point does not depend on the other
// points. The error is from the model or the context.
func Interpolate(ctx context.Context, model Model, points []Point, texts []string) error {
	chords, err := findChords(ctx, model, points, texts)
	if err != nil {
		return err
	}
	paths := map[[2]string]*path{}
	for _, c := range chords {
		if c.last.SMILES < c.first.SMILES { // one path for both directions
			c.first, c.last = c.last, c.first
			c.share = 1 - c.share
		}
		ends := [2]string{c.first.SMILES, c.last.SMILES}
		if paths[ends] == nil {
			if paths[ends], err = newPath(ctx, model, c.first, c.last); err != nil {
				return err
			}
		}
		texts[c.row] = paths[ends].at(c.share)
	}
	return nil
}

// findChords returns a chord for each point inside the sphere that lies between two molecules.
func findChords(ctx context.Context, model Model, points []Point, texts []string) ([]chord, error) {
	chords, err := startChords(ctx, model, points, texts)
	if err != nil {
		return nil, err
	}
	return endChords(ctx, model, chords)
}

// startChords returns a chord without its last molecule for each point inside the sphere that decodes to a molecule.
func startChords(ctx context.Context, model Model, points []Point, texts []string) ([]chord, error) {
	var rows []int
	var insideTexts []string
	for i, p := range points {
		if norm(p.Hidden) < maxInsideShare*model.Space().Length {
			rows = append(rows, i)
			insideTexts = append(insideTexts, texts[i])
		}
	}
	firsts, err := readSeeds(ctx, model, insideTexts)
	if err != nil {
		return nil, err
	}
	var chords []chord
	for _, row := range rows {
		first, isMolecule := firsts[texts[row]]
		if !isMolecule {
			continue
		}
		end, share := chordEnd(first.Hidden, points[row].Hidden)
		if share < minChordShare {
			continue
		}
		chords = append(chords, chord{row: row, first: first, end: end, share: share})
	}
	return chords, nil
}

// endChords sets the last molecules of chords. It drops a chord whose end is not the hidden state of another molecule.
func endChords(ctx context.Context, model Model, chords []chord) ([]chord, error) {
	ends := make([]Point, len(chords))
	for i, c := range chords {
		ends[i].Hidden = c.end
	}
	texts, err := model.Decode(ctx, ends)
	if err != nil {
		return nil, err
	}
	lasts, err := readSeeds(ctx, model, texts)
	if err != nil {
		return nil, err
	}
	complete := chords[:0]
	for i, c := range chords {
		last, isMolecule := lasts[texts[i]]
		if !isMolecule || last.SMILES == c.first.SMILES {
			continue
		}
		if distance(last.Hidden, c.end) < maxEndShare*model.Space().Length {
			c.last = last
			complete = append(complete, c)
		}
	}
	return complete, nil
}

// readSeeds returns a seed with its hidden state for each text that is a molecule which the model can read.
func readSeeds(ctx context.Context, model Model, texts []string) (map[string]Seed, error) {
	distinct := slices.Compact(slices.Sorted(slices.Values(texts)))
	results, err := chem.Evaluate(ctx, distinct, chem.FactFingerprint)
	if err != nil {
		return nil, err
	}
	seeds := map[string]Seed{}
	var readable []string
	var rows [][]int32
	for i, r := range results {
		if r.Err != nil {
			continue
		}
		if tokens, err := model.Tokens(r.Molecule.SMILES()); err == nil {
			seeds[distinct[i]] = NewSeed(r.Molecule, tokens)
			readable = append(readable, distinct[i])
			rows = append(rows, tokens)
		}
	}
	hiddens, err := model.Encode(ctx, rows)
	if err != nil {
		return nil, err
	}
	for i, text := range readable {
		seed := seeds[text]
		seed.Hidden = hiddens[i]
		seeds[text] = seed
	}
	return seeds, nil
}

// chordEnd returns where the line from a point on a sphere around zero through a point inside leaves the sphere, and
// the share of that line at which the inner point lies. The share is 0 if the line does not cross the sphere's inside.
func chordEnd(start, through []float32) (end []float32, share float64) {
	var along, square float64 // of the step from start to through: its dot product with start, its squared length
	for i, s := range start {
		d := float64(through[i]) - float64(s)
		along += float64(s) * d
		square += d * d
	}
	if square == 0 || along >= 0 {
		return nil, 0
	}
	steps := -2 * along / square // from start to end
	end = make([]float32, len(start))
	for i, s := range start {
		end[i] = s + float32(steps*(float64(through[i])-float64(s)))
	}
	return end, 1 / steps
}

// distance returns the Euclidean distance between two hidden states.
func distance(a, b []float32) float64 {
	square := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		square += d * d
	}
	return math.Sqrt(square)
}

// norm returns the L2 norm of a hidden state.
func norm(hidden []float32) float64 {
	square := 0.0
	for _, h := range hidden {
		square += float64(h) * float64(h)
	}
	return math.Sqrt(square)
}
