package chem

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// randomPrints returns fingerprints that share many bits, as those of molecules do.
func randomPrints(count int, seed uint64) []Fingerprint {
	random := rand.New(rand.NewPCG(seed, 0))
	prints := make([]Fingerprint, count)
	for i := range prints {
		for range 5 + random.IntN(60) {
			bit := int(2048 * math.Pow(random.Float64(), 3))
			prints[i][bit/64] |= 1 << (bit % 64)
		}
	}
	return prints
}

// The search by bands finds the same distance as a comparison with every molecule.
func TestSampleDistanceIsThatToTheNearest(t *testing.T) {
	prints := randomPrints(3000, 1)
	sample := NewSample(prints, 10_000)
	if sample.Size() != 3000 || sample.DrawnFrom() != 10_000 {
		t.Errorf("%d of %d", sample.Size(), sample.DrawnFrom())
	}
	for _, query := range append(randomPrints(200, 2), prints[7], Fingerprint{}) {
		f := fold(&query)
		highest := 0.0
		for i := range prints {
			g := fold(&prints[i])
			both := 0
			for k := range f {
				word := folded{f[k] & g[k]}
				both += word.count()
			}
			highest = max(highest, float64(both)/float64(max(1, f.count()+g.count()-both)))
		}
		if got := sample.Distance(&query); math.Abs(got-(1-highest)) > 1e-12 {
			t.Fatalf("distance %v, want %v", got, 1-highest)
		}
	}
	if d := sample.Distance(&prints[7]); d != 0 {
		t.Errorf("distance %v of a molecule in the sample", d)
	}
	if d := sample.Distance(&Fingerprint{}); d != 1 {
		t.Errorf("distance %v of a molecule without bits", d)
	}
}

func TestSampleFile(t *testing.T) {
	prints := randomPrints(2500, 3)
	sample := NewSample(prints, 4000)
	var file bytes.Buffer
	if _, err := sample.WriteTo(&file); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), SampleFile)
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := LoadSample(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range randomPrints(20, 4) {
		if a, b := sample.Distance(&query), read.Distance(&query); a != b || read.DrawnFrom() != 4000 {
			t.Errorf("distance %v, read again %v", a, b)
		}
	}
}

func TestHostileSampleFiles(t *testing.T) {
	pack := func(parts ...any) []byte {
		var file bytes.Buffer
		packed := gzip.NewWriter(&file)
		for _, part := range parts {
			if err := binary.Write(packed, binary.LittleEndian, part); err != nil {
				t.Fatal(err)
			}
		}
		if err := packed.Close(); err != nil {
			t.Fatal(err)
		}
		return file.Bytes()
	}
	header := []byte(sampleHeader)
	for message, file := range map[string][]byte{
		"not gzip":          []byte("SMILES"),
		"does not start":    pack([]byte("fingerprints")),
		"1 to 1048576":      pack(header, []int64{1 << 40, 1 << 40}),
		"not 0 of 5":        pack(header, []int64{0, 5}),
		"not 2 of 1":        pack(header, []int64{2, 1}),
		"ends early":        pack(header, []int64{2, 2}, folded{}),
		"does not end":      pack(header, []int64{1, 1}, folded{}, byte(1)),
		"not sorted":        pack(header, []int64{2, 2}, folded{7}, folded{1}),
		"unexpected EOF":    pack(header, []int64{1, 1}, folded{})[:40],
		"ends early: unexp": pack(header, int64(1)),
	} {
		if _, err := readSample(bytes.NewReader(file)); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%q: %v", message, err)
		}
	}
}

// BenchmarkSampleDistance reports the time for one molecule against a sample of the usual size.
func BenchmarkSampleDistance(b *testing.B) {
	sample := NewSample(randomPrints(1<<17, 1), 1<<17)
	queries := randomPrints(64, 2)
	for i := 0; b.Loop(); i++ {
		sample.Distance(&queries[i%len(queries)])
	}
}
