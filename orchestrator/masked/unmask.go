package masked

import (
	"context"
	"math/rand/v2"
)

// Row is one template for a model, ready to be unmasked.
type Row struct {
	// IDs are the tokens, from [BOS] to [EOS], [MASK] where one is wanted.
	IDs []int32
	Settings
	// Seed decides all that is random in this row.
	Seed int64
}

// Settings of unmasking; see the members of Request.
type Settings struct {
	Temperature, Noise, Gamma float32
	StepSize                  int64
}

// Model is a masked language model of molecules. All methods may be called at
// any time by any number of goroutines.
type Model interface {
	// ID is the public id, with a version suffix.
	ID() string
	// MaxTokens is the longest row, [BOS] and [EOS] included.
	MaxTokens() int
	// Encode gives the tokens of SAFE in nested order, without stereo. The
	// error of a token that the model does not know is a *tokenizers.TokenError.
	Encode(safe string) ([]int32, error)
	// Decode is the opposite, up to [EOS], without special tokens.
	Decode(ids []int32) (string, error)
	// Mask is the token to be replaced; Frame puts [BOS] and [EOS] around a row.
	Mask() int32
	Frame(ids []int32) []int32
	// MaskWorth is how many mask tokens of the API one token of the model stands
	// for: those are tokens of published SAFE models, the model's are longer.
	MaskWorth() float64
	// Length draws the number of tokens of a new molecule from those of the
	// training data.
	Length(random *rand.Rand) int
	// Unmask returns each row with its masks filled, as many tokens as it had.
	// The answer depends on the row alone, so that the same seed gives the same
	// molecule beside any other rows, on any replica.
	Unmask(ctx context.Context, rows []Row) ([][]int32, error)
}
