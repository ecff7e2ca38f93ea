package masked

import (
	"context"
	"math/rand/v2"

	"retort/chem"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers/molecules"
)

// Model is a masked language model of molecules. Its methods are safe for concurrent use.
type Model interface {
	// ID is the public id, which ends in a version.
	ID() string
	// Seen returns a sample of the molecules that the model was trained on, or nil if there is none.
	Seen() *chem.Sample
	// MaxTokens is the upper bound on the tokens of a row, [BOS] and [EOS] included.
	MaxTokens() int
	// APITokensPerToken is the average number of API tokens that a token of the model stands for, at least 1.
	APITokensPerToken() float64
	// DrawLength draws the length of a new molecule, in API tokens, from the lengths of the training molecules or, with
	// quality, of those of high quality (Request.Quality).
	DrawLength(quality bool, random *rand.Rand) int
	// DrawTokens draws the number of model tokens, at least 1, of a molecule with a length in API tokens.
	DrawTokens(apiTokens int, quality bool, random *rand.Rand) int
	// APITokens is the length in API tokens of tokens of the model.
	APITokens(ids []int32) int

	// Encode returns the tokens of SAFE text in nested order (safe.FromNested). The error for a token that the model
	// does not know is a *molecules.TokenError.
	Encode(safe string) ([]int32, error)
	// Decode is the inverse of Encode. It stops at [EOS] and skips special tokens.
	Decode(ids []int32) (string, error)
	// Mask is the id of the mask token.
	Mask() int32
	// Row frames tokens with [BOS] and [EOS]. A model with condition tokens frames them with those of the target
	// instead.
	Row(ids []int32, target Target) []int32

	// sampler is how rows of the model are drawn and read.
	sampler() sampler

	// Unmask returns each row with its masks replaced; all other tokens stay. The result of a row depends only on that
	// row and its seed, on any replica. Rows of all requests share calls to Triton, so one call with many rows is
	// cheaper than many calls. With an error, Unmask returns the rows unmasked before it, and nil for the others.
	Unmask(ctx context.Context, rows []Row) ([][]int32, error)
}

// Target describes the molecule that a row is to become, for models with condition tokens.
type Target struct {
	Quality   bool // QED of at least 0.6 and SA of at most 4
	APITokens int  // length
}

// Row is a sequence of tokens to unmask.
type Row struct {
	IDs []int32 // from [BOS] to [EOS], some of them masks
	Settings
	Seed int64 // of everything random in this row
}

// Settings control how masks are replaced; Request explains them.
type Settings struct {
	Temperature float32
	Noise       float32
	Gamma       float32
	StepSize    int64
}

// Tensors of an unmasking model, for B rows of L tokens, padded after [EOS]: model_repository/README.md.
const (
	inputIDs         = "input_ids"   // INT64 [B, L]
	inputTemperature = "temperature" // FP32 [B, 1]
	inputNoise       = "noise"       // FP32 [B, 1]
	inputGamma       = "gamma"       // FP32 [B, 1]
	inputStepSize    = "step_size"   // INT64 [B, 1]
	inputSeed        = "seed"        // INT64 [B, 1]
	outputIDs        = "token_ids"   // INT64 [B, L]
)

// unmasker unmasks rows with an entry of Triton. One call runs all unmasking steps of a batch of rows.
type unmasker struct {
	id        string       // public
	seen      *chem.Sample // nil without one
	maxTokens int
	size      int   // of the vocabulary
	mask, pad int32 // tokens

	name    string // entry in the model repository
	client  *triton.Client
	batcher *batching.Batcher[Row, []int32]
}

func (u *unmasker) ID() string         { return u.id }
func (u *unmasker) Seen() *chem.Sample { return u.seen }
func (u *unmasker) MaxTokens() int     { return u.maxTokens }
func (u *unmasker) Mask() int32        { return u.mask }

// nestedModel is a Model of SAFE in nested order, such as the shipped one.
type nestedModel struct {
	*molecules.SAFE
	*lengths
	*unmasker
	apiTokens []int32 // API tokens of each token, by id
}

func (m *nestedModel) sampler() sampler { return nestedSampler{} }

func (m *nestedModel) APITokens(ids []int32) int {
	total := 0
	for _, id := range ids {
		total += int(m.apiTokens[id])
	}
	return total
}

func (m *nestedModel) Row(ids []int32, target Target) []int32 {
	row := m.Frame(ids)
	if target.Quality && m.QUALITY >= 0 {
		row[0] = m.QUALITY
	}
	for _, length := range m.Lengths {
		if length.N <= target.APITokens {
			row[len(row)-1] = length.ID
		}
	}
	return row
}

func (u *unmasker) Unmask(ctx context.Context, rows []Row) ([][]int32, error) {
	return u.batcher.Do(ctx, rows)
}

// freeSteps is the number of unmasking steps that do not raise the cost of a row.
const freeSteps = 16

// cost returns the cost of a row in a batch, in tokens: its length, times the ratio of its steps to freeSteps if that
// is above 1. A batch runs until its last row is unmasked, so rows with hundreds of masks would delay the others.
func (u *unmasker) cost(row Row) int {
	masks := 0
	for _, id := range row.IDs {
		if id == u.mask {
			masks++
		}
	}
	steps := masks / int(max(1, row.StepSize))
	return len(row.IDs) * max(freeSteps, steps) / freeSteps
}

// infer unmasks one batch in one call to Triton.
func (u *unmasker) infer(ctx context.Context, rows []Row) ([][]int32, error) {
	width := 0
	for _, row := range rows {
		width = max(width, len(row.IDs))
	}
	response, err := u.client.Infer(ctx, &triton.Request{
		Model:   u.name,
		Inputs:  u.inputs(rows, width),
		Outputs: []string{outputIDs},
	})
	if err != nil {
		return nil, err
	}
	answers, err := triton.Rows[int64](response, outputIDs, len(rows), width)
	if err != nil {
		return nil, err
	}
	unmasked := make([][]int32, len(rows))
	for i, row := range rows {
		if unmasked[i], err = u.checkAnswer(row, answers[i]); err != nil {
			return nil, err
		}
	}
	return unmasked, nil
}

// inputs returns the tensors of a batch; width is the length of its longest row.
func (u *unmasker) inputs(rows []Row, width int) []triton.Tensor {
	ids := make([]int64, 0, len(rows)*width)
	var temperature, noise, gamma []float32
	var stepSize, seed []int64
	for _, row := range rows {
		for _, id := range row.IDs {
			ids = append(ids, int64(id))
		}
		for range width - len(row.IDs) {
			ids = append(ids, int64(u.pad))
		}
		temperature = append(temperature, row.Temperature)
		noise = append(noise, row.Noise)
		gamma = append(gamma, row.Gamma)
		stepSize = append(stepSize, row.StepSize)
		seed = append(seed, row.Seed)
	}
	column := []int64{int64(len(rows)), 1}
	return []triton.Tensor{
		triton.Int64s(inputIDs, []int64{int64(len(rows)), int64(width)}, ids),
		triton.Float32s(inputTemperature, column, temperature),
		triton.Float32s(inputNoise, column, noise),
		triton.Float32s(inputGamma, column, gamma),
		triton.Int64s(inputStepSize, column, stepSize),
		triton.Int64s(inputSeed, column, seed),
	}
}

// checkAnswer returns the tokens of a row without the padding of the answer. It fails if the model changed a given
// token, left a mask or answered an id outside its vocabulary.
func (u *unmasker) checkAnswer(row Row, answer []int64) ([]int32, error) {
	ids := make([]int32, len(row.IDs))
	for i, input := range row.IDs {
		id := answer[i]
		if id < 0 || id >= int64(u.size) || input != u.mask && id != int64(input) || id == int64(u.mask) {
			return nil, triton.InvalidTokens("model %s answered token %d for %d at position %d",
				u.name, id, input, i)
		}
		ids[i] = int32(id)
	}
	return ids, nil
}
