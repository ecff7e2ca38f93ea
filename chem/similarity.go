package chem

import (
	"math/bits"

	"retort/chem/rdkit"
)

// Fingerprint is a Morgan fingerprint of 2048 bits: bit i is bit i%64 of word i/64.
type Fingerprint [rdkit.Words]uint64

// ShortFingerprint is a Morgan fingerprint of 1024 bits.
type ShortFingerprint [rdkit.Words / 2]uint64

// Short is the fingerprint of 1024 bits of the same molecule. RDKit sets bit (feature modulo length), so the short one
// is the long one folded once.
func (f *Fingerprint) Short() ShortFingerprint {
	var s ShortFingerprint
	for i := range s {
		s[i] = f[i] | f[i+len(s)]
	}
	return s
}

// Has reports whether bit i is set.
func (f *Fingerprint) Has(i int) bool { return f[i/64]>>(i%64)&1 == 1 }

// Tanimoto is the similarity of two fingerprints: bits both have over bits either has, from 0 to
// 1. Two empty fingerprints have similarity 0, as in RDKit.
func (f *Fingerprint) Tanimoto(g *Fingerprint) float64 {
	both, either := 0, 0
	for i, w := range f {
		both += bits.OnesCount64(w & g[i])
		either += bits.OnesCount64(w | g[i])
	}
	return ratio(both, either)
}

// Tanimoto is the similarity of two short fingerprints.
func (f *ShortFingerprint) Tanimoto(g *ShortFingerprint) float64 {
	both, either := 0, 0
	for i, w := range f {
		both += bits.OnesCount64(w & g[i])
		either += bits.OnesCount64(w | g[i])
	}
	return ratio(both, either)
}

func ratio(both, either int) float64 {
	if either == 0 {
		return 0
	}
	return float64(both) / float64(either)
}

// Similarity is the Tanimoto similarity of two molecules (Morgan, radius 2, 2048 bits, no chirality), the measure of
// the constrained optimisation benchmarks.
func Similarity(a, b *Molecule) float64 {
	f := a.Fingerprint()
	g := b.Fingerprint()
	return f.Tanimoto(&g)
}

// Diversity is the internal diversity of a set as the Therapeutics Data Commons define it: one minus the mean Tanimoto
// similarity of all pairs, with Morgan fingerprints of radius 2 and 1024 bits. It is 0 for fewer than two molecules.
// Duplicates count; TDC removes them first.
func Diversity(molecules []*Molecule) float64 {
	if len(molecules) < 2 {
		return 0
	}
	prints := make([]ShortFingerprint, len(molecules))
	for i, m := range molecules {
		f := m.Fingerprint()
		prints[i] = f.Short()
	}
	sum := 0.0
	for i := range prints {
		for j := range i {
			sum += 1 - prints[i].Tanimoto(&prints[j])
		}
	}
	return sum / float64(len(prints)*(len(prints)-1)/2)
}
