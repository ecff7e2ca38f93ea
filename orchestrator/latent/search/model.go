package search

import (
	"context"

	"retort/chem"
	"retort/chem/cores"
)

// Model encodes molecules into a latent space and decodes its points. It is safe for concurrent use. The result of a
// row does not depend on the other rows, so callers may split and join batches. A model neither keeps nor changes the
// rows that it receives, and callers own the results. An error concerns the whole batch. An empty batch calls nothing.
type Model interface {
	// Space describes the latent space.
	Space() *Space
	// Tokens returns the token ids of a canonical SMILES, without special tokens. The error says why the model cannot
	// read it: an unknown token, or too many tokens.
	Tokens(smiles string) ([]int32, error)
	// TextTokens returns the ids that a SMILES can consist of, the vocabulary without special tokens, or nothing if the
	// model encodes only molecules.
	TextTokens() []int32
	// Encode returns one hidden state of Space().Size() numbers per row of token ids. Rows need not be valid SMILES,
	// unless TextTokens returns nothing.
	Encode(ctx context.Context, rows [][]int32) ([][]float32, error)
	// Decode returns one text per point. A text need not be a valid SMILES, and is not canonical.
	Decode(ctx context.Context, points []Point) ([]string, error)
	// Beams returns 1 to size texts of a beam search per point, the likeliest first. Temperature and Seed have no
	// effect. The error of a model without beam search may be shown to the client.
	Beams(ctx context.Context, points []Point, size int) ([][]string, error)
}

// yieldingModel releases the core of the search during calls to the model: see [cores.Yield].
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
	// Temperature 0 takes the likeliest token at every position. Above 0, tokens are drawn from the distribution at
	// that temperature.
	Temperature float32
	Seed        int64 // of the random numbers for drawing tokens
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
	Similarity float64
	Excess     float64 // how far it is out of the bounds of the goal's filter; 0 if it passes
}

// pointsAtOnce bounds the points of one seed that are held and decoded at once: 2 kB each at 512 coordinates.
const pointsAtOnce = 256
