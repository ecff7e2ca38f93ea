package search

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func newRandom() *rand.Rand { return rand.New(rand.NewPCG(3, 4)) }

// editDistance returns the Levenshtein distance between two texts, in tokens.
func editDistance(a, b []int32) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		before := row[0]
		row[0] = i + 1
		for j, y := range b {
			cost := before
			if x != y {
				cost = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

func TestEditTokensChangesOneToken(t *testing.T) {
	random, alphabet := newRandom(), []int32{7, 8, 9}
	lengths := map[int]bool{}
	for range 2000 {
		tokens := make([]int32, 1+random.IntN(5))
		before := slices.Clone(tokens)
		got := editTokens(tokens, alphabet, random)
		if !slices.Equal(tokens, before) {
			t.Fatal("the parent's text changed")
		}
		if len(got) == 0 || editDistance(tokens, got) != 1 {
			t.Fatalf("%v became %v", tokens, got)
		}
		lengths[len(got)-len(tokens)] = true
	}
	if !lengths[-1] || !lengths[0] || !lengths[1] {
		t.Errorf("lengths changed by %v", lengths)
	}
	for range 200 {
		for _, size := range []int{maxTokens, 2 * maxTokens} {
			if got := editTokens(make([]int32, size), alphabet, random); len(got) > size {
				t.Fatalf("%d tokens became %d", size, len(got))
			}
		}
	}
}

func TestSpliceJoinsAPrefixAndASuffix(t *testing.T) {
	random, a, b := newRandom(), []int32{1, 2, 3, 4}, []int32{5, 6, 7}
	seen := map[int]bool{}
	for range 1000 {
		got := splice(a, b, random)
		cut := slices.IndexFunc(got, func(id int32) bool { return id >= 5 })
		if cut < 0 {
			cut = len(got)
		}
		if len(got) == 0 || !slices.Equal(got[:cut], a[:cut]) || !slices.Equal(got[cut:], b[len(b)-len(got)+cut:]) {
			t.Fatalf("%v from %v and %v", got, a, b)
		}
		seen[len(got)] = true
	}
	if !seen[1] || !seen[len(a)+len(b)-1] {
		t.Errorf("lengths %v", seen)
	}
	if got := splice(make([]int32, maxTokens), make([]int32, maxTokens), random); len(got) > maxTokens {
		t.Errorf("%d tokens", len(got))
	}
}

func TestPointChangesOnlyTheWindow(t *testing.T) {
	ones := slices.Repeat([]float64{1}, 64)
	space, err := NewSpace(make([]float64, 64), ones, 1)
	if err != nil {
		t.Fatal(err)
	}
	hidden, other := make([]float32, 64), slices.Repeat([]float32{100}, 64)
	p := newPopulation(newRandom(), parent{hidden: other})
	for _, by := range []operator{{parentCode, 1. / 4, 1, 0}, {windowCrossover, 1. / 4, 0, 0}, {tokenEdit, 0, 0, 0}} {
		got := p.point(space, hidden, by).Hidden
		changed := 0
		for i := range got {
			if got[i] != hidden[i] {
				changed++
			}
			if by.source == windowCrossover && got[i] != 0 && got[i] != 100 {
				t.Errorf("%v: %v", by, got[i])
			}
		}
		if want := int(by.window * 64); changed != want {
			t.Errorf("%v changed %d of 64 numbers, not %d", by, changed, want)
		}
	}
}

func TestEveryOperatorMakesAPoint(t *testing.T) {
	ones := slices.Repeat([]float64{1}, 8)
	space, err := NewSpace(make([]float64, 8), ones, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := newPopulation(newRandom(), parent{tokens: []int32{1, 2, 3}, hidden: make([]float32, 8)})
	for k, by := range operators {
		seeds := map[int64]bool{}
		for range 3 {
			point := p.point(space, make([]float32, 8), by)
			if len(point.Hidden) != 8 || (point.Temperature > 0) != (by.temperature > 0) {
				t.Errorf("operator %d: %+v", k, point)
			}
			seeds[point.Seed] = true
		}
		if drawn := len(seeds) == 3; drawn != (by.temperature > 0) {
			t.Errorf("operator %d: temperature %v, but the seeds of the points are %v", k, by.temperature, seeds)
		}
		if source := by.source; source.isText() && len(p.editText(source, []int32{1, 2, 3}, []int32{4, 5})) == 0 {
			t.Errorf("operator %d: no text", k)
		}
	}
}
