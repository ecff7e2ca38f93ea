package latent

import (
	"math/rand/v2"
	"slices"
	"testing"

	"retort/chem"
)

func stocked() *stock { return &stock{random: rand.New(rand.NewPCG(3, 4))} }

// distance is the least number of tokens to put in, replace or leave out.
func distance(a, b []int32) int {
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

func TestAnEditChangesOneToken(t *testing.T) {
	s, words := stocked(), []int32{7, 8, 9}
	lengths := map[int]bool{}
	for range 2000 {
		ids := make([]int32, 1+s.random.IntN(5))
		was := slices.Clone(ids)
		got := s.edit(ids, words)
		if !slices.Equal(ids, was) {
			t.Fatal("the parent's text changed")
		}
		if len(got) == 0 || distance(ids, got) != 1 {
			t.Fatalf("%v became %v", ids, got)
		}
		lengths[len(got)-len(ids)] = true
	}
	if !lengths[-1] || !lengths[0] || !lengths[1] {
		t.Errorf("lengths changed by %v", lengths)
	}
	for range 200 {
		for _, size := range []int{longest, 2 * longest} {
			if got := s.edit(make([]int32, size), words); len(got) > size {
				t.Fatalf("%d tokens became %d", size, len(got))
			}
		}
	}
}

func TestASpliceIsABeginningAndAnEnd(t *testing.T) {
	s, a, b := stocked(), []int32{1, 2, 3, 4}, []int32{5, 6, 7}
	seen := map[int]bool{}
	for range 1000 {
		got := s.splice(a, b)
		cut := slices.IndexFunc(got, func(id int32) bool { return id >= 5 })
		if cut < 0 {
			cut = len(got)
		}
		if len(got) == 0 || !slices.Equal(got[:cut], a[:cut]) || !slices.Equal(got[cut:], b[len(b)-len(got)+cut:]) {
			t.Fatalf("%v of %v and %v", got, a, b)
		}
		seen[len(got)] = true
	}
	if !seen[1] || !seen[len(a)+len(b)-1] {
		t.Errorf("lengths %v", seen)
	}
	if got := s.splice(make([]int32, longest), make([]int32, longest)); len(got) > longest {
		t.Errorf("%d tokens", len(got))
	}
}

func TestAWindowAloneChanges(t *testing.T) {
	s, space := stocked(), &Space{mean: make([]float64, 64), sd: make([]float64, 64), radius: 1}
	hidden, other := make([]float32, 64), make([]float32, 64)
	for i := range other {
		other[i] = 100
	}
	s.parents = []parent{{hidden: other}}
	for _, by := range []way{{code, 1. / 4, 1, 0}, {mated, 1. / 4, 0, 0}, {edited, 0, 0, 0}} {
		got := s.change(space, hidden, by)
		changed := 0
		for i := range got {
			if got[i] != hidden[i] {
				changed++
			}
			if by.source == mated && got[i] != 0 && got[i] != 100 {
				t.Errorf("%v: %v", by, got[i])
			}
		}
		if want := int(by.part * 64); changed != want {
			t.Errorf("%v changed %d of 64 numbers, not %d", by, changed, want)
		}
	}
}

// A way that pays is soon taken most of the time, and given up when it ends.
func TestTheSearchLearnsWhatPays(t *testing.T) {
	s := stocked()
	s.parents = []parent{{merit: 1}}
	better, none := &candidate{score: 2}, (*candidate)(nil)
	merit := func(c *candidate) float64 { return c.score }
	generation := func(paying int) (share float64) {
		births, candidates, fresh := make([]birth, 100), make([]*candidate, 100), make([]bool, 100)
		for i := range births {
			births[i], candidates[i], fresh[i] = birth{s.choose(), 1}, none, true
			if births[i].way == paying {
				share += 0.01
				if i%3 == 0 {
					candidates[i] = better
				}
			}
		}
		s.learn(births, candidates, fresh, merit)
		return share
	}
	for _, paying := range []int{3, 11} {
		var share float64
		for range 150 {
			share = generation(paying)
		}
		if share < 0.5 {
			t.Errorf("way %d paid and was taken for %.0f%% of the points", paying, 100*share)
		}
	}
}

func TestOfMoleculesAlikeTheBestBreeds(t *testing.T) {
	s := stocked()
	for i, smiles := range []string{"CCCCCCCCc1ccccc1", "CCCCCCCCCc1ccccc1", "OC(=O)C1CC1", "CCCCCCCCCCc1ccccc1"} {
		m, err := chem.Parse(smiles)
		if err != nil {
			t.Fatal(err)
		}
		s.parents = append(s.parents, parent{candidate: &candidate{smiles: smiles, print: m.Fingerprint()}, merit: float64(-i)})
	}
	var got []string
	for _, p := range s.distinct() {
		got = append(got, p.smiles)
	}
	if want := []string{"CCCCCCCCc1ccccc1", "OC(=O)C1CC1"}; !slices.Equal(got, want) {
		t.Errorf("%v breed, not %v", got, want)
	}
}
