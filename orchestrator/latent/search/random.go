package search

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"
)

// Streams hands out a stream of random numbers for each seed molecule of a request. A stream depends only on the number
// it was made with, the molecule, and how often the molecule came before, so what a molecule gives does not depend on
// the other molecules of its request.
type Streams struct {
	number uint64
	times  map[string]int // by SMILES
}

// NewStreams makes streams of a number; the same number makes the same streams.
func NewStreams(number uint64) *Streams { return &Streams{number: number, times: map[string]int{}} }

// Next is the next stream of a molecule. It is for one goroutine at a time.
func (s *Streams) Next(smiles string) *rand.Rand {
	hash := fnv.New64a()
	hash.Write([]byte(smiles + "\n" + strconv.Itoa(s.times[smiles])))
	s.times[smiles]++
	return rand.New(rand.NewPCG(s.number, hash.Sum64()))
}
