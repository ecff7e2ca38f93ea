package chem

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"slices"

	"retort/chem/cores"
)

// Sample is a random sample of a set of molecules, by which other molecules have a distance to the set. It has the
// Morgan fingerprints of its molecules, folded to 512 bits, which is 64 bytes each. Any number of goroutines may use
// it.
type Sample struct {
	drawnFrom int                 // molecules of the set
	prints    []folded            // by ascending number of bits
	band      [foldedBits + 2]int // band[k] is the first print with at least k bits
}

const (
	foldedBits  = 512
	foldedWords = foldedBits / 64
	// SampleFile is the usual name of the file of a sample.
	SampleFile = "training_sample.gz"
	// MaxSample is the largest number of molecules of a sample.
	MaxSample = 1 << 20
)

// folded is a fingerprint of 512 bits: bit i is set if the fingerprint of 2048 bits has one of the bits i, i + 512, …
type folded [foldedWords]uint64

func fold(f *Fingerprint) (g folded) {
	for i, w := range f {
		g[i%foldedWords] |= w
	}
	return g
}

func (f *folded) count() (n int) {
	for _, w := range f {
		n += bits.OnesCount64(w)
	}
	return n
}

// NewSample returns the sample of some molecules that were drawn from a set of drawnFrom molecules.
func NewSample(fingerprints []Fingerprint, drawnFrom int) *Sample {
	prints := make([]folded, len(fingerprints))
	for i := range fingerprints {
		prints[i] = fold(&fingerprints[i])
	}
	slices.SortFunc(prints, func(a, b folded) int {
		return cmp.Or(cmp.Compare(a.count(), b.count()), slices.Compare(a[:], b[:]))
	})
	return newSample(prints, drawnFrom)
}

// newSample returns the sample of sorted prints.
func newSample(prints []folded, drawnFrom int) *Sample {
	s := &Sample{drawnFrom: drawnFrom, prints: prints}
	at := 0
	for k := range s.band {
		for at < len(prints) && prints[at].count() < k {
			at++
		}
		s.band[k] = at
	}
	return s
}

// Size returns the number of molecules in the sample.
func (s *Sample) Size() int { return len(s.prints) }

// DrawnFrom returns the number of molecules in the set.
func (s *Sample) DrawnFrom() int { return s.drawnFrom }

// Distance returns the Tanimoto distance, 1 - similarity, of a molecule to the nearest molecule of the sample.
func (s *Sample) Distance(fingerprint *Fingerprint) float64 {
	f := fold(fingerprint)
	count := f.count()
	best := 0.0
	for gap := 0; gap <= foldedBits; gap++ {
		below, above := count-gap, count+gap
		// The similarity of prints with a and b bits is at most min(a, b) / max(a, b), here at most count / above.
		if count == 0 || float64(count) <= best*float64(above) {
			break
		}
		if below >= 1 {
			best = s.nearest(&f, count, below, best)
		}
		if gap > 0 && above <= foldedBits {
			best = s.nearest(&f, count, above, best)
		}
	}
	return 1 - best
}

// nearest returns the highest similarity to the prints with k bits, or best if that is higher.
func (s *Sample) nearest(f *folded, count, k int, best float64) float64 {
	most := 0 // bits in both
	for i := s.band[k]; i < s.band[k+1]; i++ {
		both := 0
		for j, w := range &s.prints[i] {
			both += bits.OnesCount64(w & f[j])
		}
		most = max(most, both)
	}
	return max(best, float64(most)/float64(count+k-most))
}

// Distances returns the distance of each molecule, computed on all cores.
func (s *Sample) Distances(ctx context.Context, molecules []*Molecule) ([]float64, error) {
	return cores.Map(ctx, len(molecules), func(i int) (float64, error) {
		fingerprint := molecules[i].Fingerprint()
		return s.Distance(&fingerprint), nil
	})
}

// A file of a sample is gzip: the line sampleHeader, the number of molecules in the sample and in the set (8 bytes
// each), and the sorted prints. All numbers are little-endian.
const sampleHeader = "retort training sample 1\n"

// WriteTo writes the file of a sample.
func (s *Sample) WriteTo(w io.Writer) (int64, error) {
	var file bytes.Buffer
	packed, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if err != nil {
		return 0, err
	}
	for _, part := range []any{[]byte(sampleHeader), int64(len(s.prints)), int64(s.drawnFrom), s.prints} {
		if err := binary.Write(packed, binary.LittleEndian, part); err != nil {
			return 0, err
		}
	}
	if err := packed.Close(); err != nil {
		return 0, err
	}
	return file.WriteTo(w)
}

// LoadSample reads the file of a sample.
func LoadSample(path string) (*Sample, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return readSample(bufio.NewReader(file))
}

func readSample(r io.Reader) (*Sample, error) {
	unpacked, err := gzip.NewReader(r)
	if err != nil {
		return nil, errors.New("not a sample of molecules: not gzip")
	}
	header := make([]byte, len(sampleHeader))
	if _, err := io.ReadFull(unpacked, header); err != nil || string(header) != sampleHeader {
		return nil, fmt.Errorf("not a sample of molecules: it does not start with %q", sampleHeader)
	}
	var sizes [2]int64
	if err := binary.Read(unpacked, binary.LittleEndian, &sizes); err != nil {
		return nil, fmt.Errorf("the sample of molecules ends early: %w", err)
	}
	if sizes[0] < 1 || sizes[0] > MaxSample || sizes[1] < sizes[0] {
		return nil, fmt.Errorf("a sample has 1 to %d molecules, drawn from at least as many, not %d of %d",
			MaxSample, sizes[0], sizes[1])
	}
	var prints []folded
	for remaining := int(sizes[0]); remaining > 0; remaining -= 1024 { // so that a short file takes little memory
		part := make([]folded, min(remaining, 1024))
		if err := binary.Read(unpacked, binary.LittleEndian, part); err != nil {
			return nil, fmt.Errorf("the sample of molecules ends early: %w", err)
		}
		prints = append(prints, part...)
	}
	if n, err := io.ReadFull(unpacked, make([]byte, 1)); n > 0 || err != io.EOF {
		return nil, errors.New("the sample of molecules does not end after its last molecule")
	}
	if !slices.IsSortedFunc(prints, func(a, b folded) int { return cmp.Compare(a.count(), b.count()) }) {
		return nil, errors.New("the molecules of the sample are not sorted by their bits")
	}
	return newSample(slices.Clip(prints), int(sizes[1])), nil
}
