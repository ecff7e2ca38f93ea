package chem

import (
	"math/bits"

	"retort/chem/rdkit"
)

// Fingerprint is a Morgan fingerprint of 2048 bits: bit i is bit i%64 of word i/64.
type Fingerprint [rdkit.Words]uint64

// Has reports whether bit i is set.
func (f *Fingerprint) Has(i int) bool { return f[i/64]>>(i%64)&1 == 1 }

// Tanimoto is the similarity of two fingerprints, from 0 to 1: the number of bits in both over the number of bits in
// either. As in RDKit, two empty fingerprints have the similarity 0.
func (f *Fingerprint) Tanimoto(g *Fingerprint) float64 {
	both := 0
	either := 0
	for i, w := range f {
		both += bits.OnesCount64(w & g[i])
		either += bits.OnesCount64(w | g[i])
	}
	if either == 0 {
		return 0
	}
	return float64(both) / float64(either)
}

// Similarity is the Tanimoto similarity of two molecules (Morgan, radius 2, 2048 bits, no chirality), as in the
// constrained optimisation benchmarks.
func Similarity(a, b *Molecule) float64 {
	f := a.Fingerprint()
	g := b.Fingerprint()
	return f.Tanimoto(&g)
}
