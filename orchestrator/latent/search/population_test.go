package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"retort/chem"
)

// newPopulation returns a population of the smallest size, whose fitness is the score.
func newPopulation(random *rand.Rand, parents ...parent) *population {
	return &population{
		fitness:   func(m *Molecule) float64 { return m.Score },
		random:    random,
		size:      minParents,
		parents:   parents,
		selection: selection{random: random},
	}
}

// An operator that earns rewards is soon chosen most of the time, and another one once that one earns them.
func TestSelectionLearnsWhichOperatorPays(t *testing.T) {
	p := newPopulation(newRandom(), parent{fitness: 1})
	fitter := &Molecule{Score: 2}
	generation := func(paying int) (share float64) {
		children, molecules, fresh := make([]offspring, 100), make([]*Molecule, 100), make([]bool, 100)
		for i := range children {
			children[i] = offspring{operator: p.selection.choose(), parent: &p.parents[0]}
			fresh[i] = true
			if children[i].operator == paying {
				share += 0.01
				if i%3 == 0 {
					molecules[i] = fitter
				}
			}
		}
		p.credit(children, molecules, fresh)
		return share
	}
	for _, paying := range []int{3, 11} {
		var share float64
		for range 150 {
			share = generation(paying)
		}
		if share < 0.5 {
			t.Errorf("operator %d earned rewards and was chosen for %.0f%% of the points", paying, 100*share)
		}
	}
}

// A repeated text counts less of a trial than an evaluation, and a new parent earns less than a fitter one.
func TestRewards(t *testing.T) {
	p := newPopulation(newRandom(), parent{fitness: 5})
	children := make([]offspring, 4)
	for i := range children {
		children[i] = offspring{operator: i, parent: &p.parents[0]}
	}
	molecules := []*Molecule{{Score: 6}, {Score: 4}, nil, {Score: 6}}
	p.credit(children, molecules, []bool{true, true, true, false})
	if got := p.selection.rewards[:4]; !slices.Equal(got, []float64{1, newParentReward, 0, 0}) {
		t.Errorf("rewards %v", got)
	}
	if got := p.selection.trials[:4]; !slices.Equal(got, []float64{1, 1, 1, repeatedTrial}) {
		t.Errorf("trials %v", got)
	}
}

func TestOnlyTheFittestOfSimilarMoleculesIsAParent(t *testing.T) {
	p := newPopulation(newRandom(), parent{})
	p.parents = nil
	for i, smiles := range []string{"CCCCCCCCc1ccccc1", "CCCCCCCCCc1ccccc1", "OC(=O)C1CC1", "CCCCCCCCCCc1ccccc1"} {
		m, err := chem.Parse(smiles)
		if err != nil {
			t.Fatal(err)
		}
		p.parents = append(p.parents, parent{smiles: smiles, fingerprint: m.Fingerprint(), fitness: float64(-i)})
	}
	p.trim()
	var got []string
	for _, kept := range p.parents {
		got = append(got, kept.smiles)
	}
	if want := []string{"CCCCCCCCc1ccccc1", "OC(=O)C1CC1"}; !slices.Equal(got, want) {
		t.Errorf("parents %v, want %v", got, want)
	}
}

func TestFitterParentsAreDrawnMoreOften(t *testing.T) {
	p := newPopulation(newRandom(), parent{})
	p.parents = make([]parent, 4)
	var drawn [4]int
	for i := range p.parents {
		p.parents[i].fitness = float64(i)
	}
	for range 4000 {
		drawn[int(p.draw().fitness)]++
	}
	// The share of rank i of n is √((i+1)/n) - √(i/n): 50, 21, 16 and 13 %.
	for i, share := range []int{2000, 828, 636, 536} {
		if drawn[i] < share-150 || drawn[i] > share+150 {
			t.Errorf("rank %d was drawn %d times in 4000, expected %d", i, drawn[i], share)
		}
	}
}
