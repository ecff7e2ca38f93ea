// Package toy is a small latent space for tests of searches: all of its molecules are known (see [Steps]).
//
// Each of the first four coordinates chooses one of the four parts of a molecule, in steps of half a unit; noise below
// a quarter of a unit changes nothing. A fifth coordinate far from zero makes the text unreadable. The others have no
// effect.
package toy

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"sync"

	"retort/chem"
)

// Size is the number of coordinates.
const Size = 64

// Broken is the text of a point whose fifth coordinate is above 2 or below -2. It is not a molecule.
const Broken = "C(=C"

// partsEach is how many alternatives there are for each part.
const partsEach = 6

var parts = [4][partsEach]string{
	{"C", "CC", "F", "O", "N", "N#C"},
	{"", "C(=O)N", "CO", "CC", "S(=O)(=O)N", "CCCCC"},
	{"C", "CC", "F", "O", "N", "C#N"},
	{"C", "OC", "Cl", "O", "C(=O)O", "CCCC"},
}

// Vocabulary is the tokens by id: all tokens of the space's molecules and a few others, but not silicon. The first four
// are special.
var Vocabulary = append([]string{"[PAD]", "[BOS]", "[EOS]", "[UNK]"},
	strings.Fields("C c N n O o S s F Cl Br ( ) = # - / \\ 1 2 3 [nH] [O-] [N+] [C@H] [C@@H]")...)

// Molecule returns the SMILES at four steps of 0 to 5. It is not canonical.
func Molecule(step [4]int) string {
	return fmt.Sprintf("%sc1ccc(%s)c(%sc2ccc(%s)cc2)c1",
		parts[0][step[0]], parts[2][step[2]], parts[1][step[1]], parts[3][step[3]])
}

// Steps maps the canonical SMILES of all molecules of the space to their steps.
var Steps = sync.OnceValue(func() map[string][4]int {
	const n = partsEach
	var texts []string
	var steps [][4]int
	for i := range n * n * n * n {
		step := [4]int{i % n, i / n % n, i / (n * n) % n, i / (n * n * n)}
		texts = append(texts, Molecule(step))
		steps = append(steps, step)
	}
	results, err := chem.Evaluate(context.Background(), texts, chem.NoFacts)
	if err != nil {
		panic(err)
	}
	found := make(map[string][4]int, len(texts))
	for i, r := range results {
		if r.Err != nil {
			panic(r.Err)
		}
		if _, twice := found[r.Molecule.SMILES()]; !twice {
			found[r.Molecule.SMILES()] = steps[i]
		}
	}
	return found
})

// Encode returns the hidden state of a canonical SMILES: the middle of its steps. Any other text has a hidden state
// that its hash chooses.
func Encode(smiles string) []float32 {
	step, known := Steps()[smiles]
	if !known {
		hash := fnv.New64a()
		hash.Write([]byte(smiles))
		sum := hash.Sum64()
		for i := range step {
			step[i] = int(sum>>(8*i)) & 0xff % partsEach
		}
	}
	hidden := make([]float32, Size)
	for i, s := range step {
		hidden[i] = float32(s)*0.5 - 1.25
	}
	return hidden
}

// Decode is the inverse of Encode. A temperature above 0 changes one of the four steps at random.
func Decode(hidden []float32, temperature float32, seed int64) string {
	if math.Abs(float64(hidden[4])) > 2 {
		return Broken
	}
	var step [4]int
	for i := range step {
		step[i] = min(partsEach-1, max(0, int(math.Floor(float64(hidden[i])/0.5+partsEach/2))))
	}
	if temperature > 0 {
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		step[random.IntN(4)] = random.IntN(partsEach)
	}
	return Molecule(step)
}

// Beams returns the texts of a beam search: the text of Decode, then its variants in the first part, in order.
func Beams(hidden []float32, size int) []string {
	point := append([]float32(nil), hidden...)
	beams := make([]string, size)
	for k := range beams {
		if k > 0 {
			point[0] = float32(k%partsEach)*0.5 - 1.25
		}
		beams[k] = Decode(point, 0, 0)
	}
	return beams
}
