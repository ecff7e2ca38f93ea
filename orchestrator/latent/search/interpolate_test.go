package search

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// sphere is a model whose molecules lie at random places on a sphere of radius 1. Its decoder writes the nearest
// molecule that it has encoded so far.
type sphere struct {
	Model
	space *Space
	known map[string][]float32
	read  []string // molecules by id, from 0
}

const sphereSize = 64

func newSphere(tb testing.TB, length float64) *sphere {
	tb.Helper()
	space, err := NewSpace(make([]float64, sphereSize), slices.Repeat([]float64{1}, sphereSize), 1)
	if err != nil {
		tb.Fatal(err)
	}
	space.Length = length
	return &sphere{space: space, known: map[string][]float32{}}
}

func (s *sphere) Space() *Space { return s.space }

// Tokens returns one id per molecule.
func (s *sphere) Tokens(smiles string) ([]int32, error) {
	s.read = append(s.read, smiles)
	return []int32{int32(len(s.read) - 1)}, nil
}

func (s *sphere) Encode(_ context.Context, rows [][]int32) (out [][]float32, err error) {
	for _, row := range rows {
		out = append(out, s.place(s.read[row[0]]))
	}
	return out, nil
}

// place returns the hidden state of a molecule.
func (s *sphere) place(smiles string) []float32 {
	hash := fnv.New64a()
	hash.Write([]byte(smiles))
	random := rand.New(rand.NewPCG(hash.Sum64(), 0))
	at := make([]float32, sphereSize)
	for i := range at {
		at[i] = float32(random.NormFloat64())
	}
	scale := float32(1 / norm(at))
	for i := range at {
		at[i] *= scale
	}
	s.known[smiles] = at
	return at
}

func (s *sphere) Decode(_ context.Context, points []Point) (texts []string, err error) {
	for _, p := range points {
		nearest := ""
		for smiles := range s.known {
			if nearest == "" || distance(s.known[smiles], p.Hidden) < distance(s.known[nearest], p.Hidden) {
				nearest = smiles
			}
		}
		texts = append(texts, nearest)
	}
	return texts, nil
}

// line returns points at equal steps from one molecule to another, both ends included.
func (s *sphere) line(from, to string, steps int) (points []Point) {
	a := s.place(from)
	b := s.place(to)
	for step := range steps {
		at := float32(step) / float32(steps-1)
		hidden := make([]float32, sphereSize)
		for i := range hidden {
			hidden[i] = (1-at)*a[i] + at*b[i]
		}
		points = append(points, Point{Hidden: hidden})
	}
	return points
}

// The ends of a line, as canonical SMILES.
const (
	lineFrom = "CC(C)Cc1ccc(C(C)C(=O)O)cc1"
	lineTo   = "Cn1c(=O)c2c(ncn2C)n(C)c1=O"
)

func decoded(t *testing.T, s *sphere, points []Point) []string {
	t.Helper()
	texts, err := s.Decode(t.Context(), points)
	if err == nil {
		err = Interpolate(t.Context(), s, points, texts)
	}
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

func TestInterpolateGivesThePathBetweenTwoMolecules(t *testing.T) {
	s := newSphere(t, 1)
	there := decoded(t, s, s.line(lineFrom, lineTo, 50))
	back := decoded(t, s, s.line(lineTo, lineFrom, 50))
	if there[0] != lineFrom || there[49] != lineTo {
		t.Errorf("from %s to %s", there[0], there[49])
	}
	if distinct := len(slices.Compact(slices.Clone(there))); distinct < 15 {
		t.Errorf("%d molecules", distinct)
	}
	slices.Reverse(back)
	differ := 0
	for i := range there {
		if there[i] != back[i] {
			differ++
		}
	}
	if differ > 2 { // rounding decides about a point halfway between two molecules of the path
		t.Errorf("%d of 50 points give another molecule in the other direction", differ)
	}
}

func TestInterpolatedPointsAreIndependent(t *testing.T) {
	s := newSphere(t, 1)
	points := append(s.line(lineFrom, lineTo, 9), s.line(lineTo, "CCO", 9)...)
	among := decoded(t, s, points)
	for i := range points {
		if alone := decoded(t, s, points[i:i+1]); alone[0] != among[i] {
			t.Errorf("point %d gives %s alone and %s among others", i, alone[0], among[i])
		}
	}
}

func TestInterpolateKeepsOtherTexts(t *testing.T) {
	halfway := func(s *sphere) Point { return s.line(lineFrom, lineTo, 3)[1] }
	for name, test := range map[string]struct {
		length float64
		point  func(*sphere) Point
	}{
		"on the sphere":             {1, func(s *sphere) Point { return s.line(lineFrom, lineTo, 3)[0] }},
		"a model without a sphere":  {0, halfway},
		"beside the line":           {1, func(s *sphere) Point { p := halfway(s); p.Hidden[0] += 0.2; return p }},
		"of one molecule, shorter":  {1, func(s *sphere) Point { return scaled(s.line(lineFrom, lineTo, 3)[0], 0.7) }},
		"of one molecule, longer":   {1, func(s *sphere) Point { return scaled(s.line(lineFrom, lineTo, 3)[0], 2) }},
		"nowhere":                   {1, func(s *sphere) Point { return scaled(halfway(s), 0) }},
		"of one molecule, reversed": {1, func(s *sphere) Point { return scaled(s.line(lineFrom, lineTo, 3)[0], -0.5) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSphere(t, test.length)
			point := test.point(s)
			plain, _ := s.Decode(t.Context(), []Point{point})
			if texts := decoded(t, s, []Point{point}); texts[0] != plain[0] {
				t.Errorf("%s, want the decoded text %s", texts[0], plain[0])
			}
		})
	}
}

func scaled(p Point, by float32) Point {
	for i := range p.Hidden {
		p.Hidden[i] *= by
	}
	return p
}

func TestChordEnd(t *testing.T) {
	for name, test := range map[string]struct {
		through []float32
		end     []float32
		share   float64
	}{
		"a quarter of the line": {[]float32{0.75, 0.25}, []float32{0, 1}, 0.25},
		"through the middle":    {[]float32{0, 0}, []float32{-1, 0}, 0.5},
		"the start":             {[]float32{1, 0}, nil, 0},
		"outside":               {[]float32{2, 0}, nil, 0},
	} {
		end, share := chordEnd([]float32{1, 0}, test.through)
		isAtEnd := len(end) == len(test.end) && (end == nil || distance(end, test.end) < 1e-6)
		if math.Abs(share-test.share) > 1e-6 || !isAtEnd {
			t.Errorf("%s: end %v, share %v", name, end, share)
		}
	}
}
