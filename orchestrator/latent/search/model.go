package search

import (
	"context"

	"retort/chem"
	"retort/chem/cores"
)

// Model encodes molecules into a latent space and decodes its points. It is safe for concurrent use. What a row gives
// does not depend on the rows beside it, so callers may split and join batches as they like; a model may make calls of
// any size from the rows of several callers. A model does not keep or change the rows it is given, and results are the
// caller's. An error is that of the whole batch.
type Model interface {
	// Space is the latent space: its size, and how the training molecules lie in it.
	Space() *Space
	// Tokens gives the token ids of a canonical SMILES, without special tokens. The error says why the model cannot
	// read it: a token that it does not know, or too many of them.
	Tokens(smiles string) ([]int32, error)
	// TextTokens are the ids that a SMILES can be made of: all of the vocabulary but the special ones.
	TextTokens() []int32
	// Encode gives one hidden state of Space().Size() numbers per row of token ids. Rows need not be valid SMILES. No
	// rows are no call.
	Encode(ctx context.Context, rows [][]int32) ([][]float32, error)
	// Decode gives one text per point. It may not be a valid SMILES, and is not canonical. No points are no call.
	Decode(ctx context.Context, points []Point) ([]string, error)
	// Beams gives, for each hidden state, between one and size texts of a beam search, likeliest first. They may not be
	// valid SMILES. A model without beam search answers with an error that may be shown to whoever asked for it.
	Beams(ctx context.Context, hiddens [][]float32, size int) ([][]string, error)
}

// yieldingModel is a model whose calls are waited for without a core: see [cores.Yield].
type yieldingModel struct{ Model }

func (m yieldingModel) Encode(ctx context.Context, rows [][]int32) ([][]float32, error) {
	return cores.Yield(ctx, func() ([][]float32, error) { return m.Model.Encode(ctx, rows) })
}

func (m yieldingModel) Decode(ctx context.Context, points []Point) ([]string, error) {
	return cores.Yield(ctx, func() ([]string, error) { return m.Model.Decode(ctx, points) })
}

// Point is a hidden state to decode.
type Point struct {
	Hidden []float32
	// Temperature 0 takes the likeliest token at every place. Above 0 tokens are drawn from the distribution at that
	// temperature, with the random numbers that Seed stands for.
	Temperature float32
	Seed        int64
}

// Seed is a molecule that a search starts from.
type Seed struct {
	SMILES      string // canonical
	Radicals    int    // unpaired electrons
	HeavyAtoms  int
	Fingerprint chem.Fingerprint
	Tokens      []int32
	Hidden      []float32
}

// NewSeed returns a molecule as a seed. tokens are the token ids of its canonical SMILES; the hidden state is not set.
func NewSeed(m *chem.Molecule, tokens []int32) Seed {
	return Seed{
		SMILES:      m.SMILES(),
		Radicals:    m.Radicals(),
		HeavyAtoms:  m.HeavyAtoms(),
		Fingerprint: m.Fingerprint(),
		Tokens:      tokens,
	}
}

// Molecule is a molecule that a search has found.
type Molecule struct {
	SMILES     string  // canonical
	Score      float64 // of the objective; finite
	Similarity float64 // Tanimoto similarity to the seed, from 0 to 1: Morgan fingerprint of radius 2, 2048 bits
}

// pointsAtOnce is how many points of one seed are held and decoded at once, 2 kB each at 512 coordinates.
const pointsAtOnce = 256
