package synthesis

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"strings"
	"sync"

	"retort/chem"
	"retort/chem/cores"
	"retort/chem/rdkit"
)

// The bounds of a file of building blocks.
const (
	MaxBlocks = 1_000_000 // 8 bytes each in memory
	maxLine   = 4096      // bytes
)

// Blocks is a set of building blocks. It has 64 bits of each molecule, so one molecule in 10^13 is taken for a building
// block that it is not. Any number of goroutines may use it.
type Blocks struct{ hashes []uint64 } // sorted, distinct

//go:embed building_blocks.smi.gz
var defaultBlocks []byte

// Default returns the built-in set: common reagents, and the precursors that the templates find most often in the
// training molecules of the included models. It is no catalogue of a vendor.
var Default = sync.OnceValue(func() *Blocks {
	b := &Blocks{}
	for smiles := range strings.Lines(DefaultSMILES()) {
		b.hashes = append(b.hashes, hash(strings.TrimSuffix(smiles, "\n")))
	}
	b.sort()
	return b
})

// DefaultSMILES returns the molecules of Default as canonical SMILES, one per line.
func DefaultSMILES() string {
	unzipped, err := gzip.NewReader(bytes.NewReader(defaultBlocks))
	if err != nil {
		panic(err) // the embedded file is damaged
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ReadBlocks reads SMILES, one per line, each with an optional name after white space. Empty lines and lines that start
// with # are skipped. Of a salt, the largest component counts. The error names the line.
func ReadBlocks(ctx context.Context, r io.Reader) (*Blocks, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var smiles []string
	var numbers []int
	number := 0
	for lines.Scan() {
		number++
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(smiles) == MaxBlocks {
			return nil, fmt.Errorf("there are more than %d building blocks", MaxBlocks)
		}
		smiles = append(smiles, words[0])
		numbers = append(numbers, number)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is longer than %d bytes", number+1, maxLine)
	} else if err != nil {
		return nil, err
	}
	if len(smiles) == 0 {
		return nil, errors.New("there is no building block")
	}
	b := &Blocks{hashes: make([]uint64, len(smiles))}
	err := cores.Chunks(ctx, len(smiles), nil, func(_ context.Context, from, to int) error {
		for i := from; i < to; i++ {
			canonical, err := Canonical(smiles[i])
			if err != nil {
				return fmt.Errorf("line %d, %q: %w", numbers[i], smiles[i], err)
			}
			b.hashes[i] = hash(canonical)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b.sort()
	return b, nil
}

// Canonical returns the canonical SMILES of a building block: its largest component without configurations.
func Canonical(smiles string) (string, error) {
	text, err := chem.Check(smiles)
	if err != nil {
		return "", err
	}
	if strings.Contains(text, ".") {
		if text, err = rdkit.Largest(text); err != nil {
			return "", chem.Explain(smiles, err)
		}
	}
	flat, err := rdkit.Flat(text)
	if err != nil {
		return "", chem.Explain(smiles, err)
	}
	return flat, nil
}

func (b *Blocks) sort() {
	slices.Sort(b.hashes)
	b.hashes = slices.Clip(slices.Compact(b.hashes))
}

// Len returns the number of building blocks.
func (b *Blocks) Len() int { return len(b.hashes) }

// has reports whether a molecule is a building block. smiles is canonical and without configurations.
func (b *Blocks) has(smiles string) bool {
	_, found := slices.BinarySearch(b.hashes, hash(smiles))
	return found
}

func hash(smiles string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(smiles))
	return h.Sum64()
}
