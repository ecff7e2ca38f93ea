package masked

import (
	"context"
	"math/rand/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers/molecules"
)

// Model is a masked language model of molecules. All methods may be called at any time by any number of goroutines.
type Model interface {
	// ID is the public id, which ends in a version.
	ID() string
	// MaxTokens is how many tokens a row may have, [BOS] and [EOS] included.
	MaxTokens() int
	// MaskWorth is how many mask tokens of the API one token of the model stands for on average, at least 1: a client
	// counts in tokens of published SAFE models, which are shorter than this model's.
	MaskWorth() float64
	// Length draws the published length of a new molecule, as they are distributed in the training data, or in those of
	// quality.
	Length(quality bool, random *rand.Rand) int
	// Tokens draws how many tokens of the model a molecule of a published length has, or one of quality, at least 1.
	Tokens(published int, quality bool, random *rand.Rand) int
	// Published is the published length of tokens of the model.
	Published(ids []int32) int

	// Encode gives the tokens of SAFE in nested order. A token that the model does not know is a
	// *molecules.TokenError.
	Encode(safe string) ([]int32, error)
	// Decode is the opposite. It stops at [EOS] and passes over special tokens.
	Decode(ids []int32) (string, error)
	// Mask is the id of the token that Unmask replaces.
	Mask() int32
	// Row puts a row's tokens between [BOS] and [EOS], or the tokens that stand there for what is wanted, where the
	// model has them.
	Row(ids []int32, wanted Wanted) []int32

	// Unmask returns each row with its masks replaced, as many tokens as it had; all other tokens stay. A row's answer
	// depends on that row alone: the same seed gives the same molecule beside any other rows, on any replica. Rows of
	// all requests share calls to Triton, so many rows at once are cheaper than one by one. Beside an error come the rows
	// that were unmasked before, nil for the others, or nothing.
	Unmask(ctx context.Context, rows []Row) ([][]int32, error)
}

// Wanted is what kind of molecule a row is to become, for models that can be told.
type Wanted struct {
	Quality   bool // QED of at least 0.6 and SA of at most 4
	Published int  // length, in published tokens
}

// Row is one template for a model, ready to be unmasked.
type Row struct {
	IDs      []int32 // the tokens, from [BOS] to [EOS], with masks among them
	Settings         // how masks are replaced
	Seed     int64   // decides all that is random in this row
}

// Settings say how masks are replaced; see the members of Request.
type Settings struct {
	Temperature float32
	Noise       float32
	Gamma       float32
	StepSize    int64
}

// The tensors of every unmasking model, for B rows of L tokens, padded after [EOS]: model_repository/README.md.
const (
	inputIDs         = "input_ids"   // INT64 [B, L]
	inputTemperature = "temperature" // FP32 [B, 1]
	inputNoise       = "noise"       // FP32 [B, 1]
	inputGamma       = "gamma"       // FP32 [B, 1]
	inputStepSize    = "step_size"   // INT64 [B, 1]
	inputSeed        = "seed"        // INT64 [B, 1]
	outputIDs        = "token_ids"   // INT64 [B, L]
)

// tritonModel is a Model that Triton runs: one call unmasks a batch of rows to the end.
type tritonModel struct {
	*molecules.SAFE
	id        string
	maxTokens int
	maskWorth float64
	lengths   *lengths
	published []int32 // by id: how many published tokens it stands for

	name    string // of the entry
	client  *triton.Client
	batcher *batching.Batcher[Row, []int32]
}

func (m *tritonModel) ID() string         { return m.id }
func (m *tritonModel) MaxTokens() int     { return m.maxTokens }
func (m *tritonModel) Mask() int32        { return m.MASK }
func (m *tritonModel) MaskWorth() float64 { return m.maskWorth }

func (m *tritonModel) Length(quality bool, random *rand.Rand) int {
	return m.lengths.published(quality, random)
}

func (m *tritonModel) Tokens(published int, quality bool, random *rand.Rand) int {
	return m.lengths.tokens(published, quality, random)
}

func (m *tritonModel) Published(ids []int32) int {
	published := 0
	for _, id := range ids {
		published += int(m.published[id])
	}
	return published
}

func (m *tritonModel) Row(ids []int32, wanted Wanted) []int32 {
	row := m.Frame(ids)
	if wanted.Quality && m.QUALITY >= 0 {
		row[0] = m.QUALITY
	}
	for _, length := range m.Lengths {
		if length.N <= wanted.Published {
			row[len(row)-1] = length.ID
		}
	}
	return row
}

func (m *tritonModel) Unmask(ctx context.Context, rows []Row) ([][]int32, error) {
	return m.batcher.Do(ctx, rows)
}

// quickSteps is how many unmasking steps of a row are counted as its tokens alone.
const quickSteps = 16

// cost is what a row takes of a batch, in tokens: those that it has, and more in proportion where its masks take many
// steps, since the whole batch runs until the last of its rows is unmasked. So a row with hundreds of masks does not
// hold up others beside it or behind it for long.
func (m *tritonModel) cost(row Row) int {
	masks := 0
	for _, id := range row.IDs {
		if id == m.MASK {
			masks++
		}
	}
	steps := masks / int(max(1, row.StepSize))
	return len(row.IDs) * max(quickSteps, steps) / quickSteps
}

// infer sends one batch to Triton.
func (m *tritonModel) infer(ctx context.Context, rows []Row) ([][]int32, error) {
	width := 0
	for _, row := range rows {
		width = max(width, len(row.IDs))
	}
	response, err := m.client.Infer(ctx, &triton.Request{
		Model:   m.name,
		Inputs:  m.inputs(rows, width),
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
		if unmasked[i], err = m.unmasked(row, answers[i]); err != nil {
			return nil, err
		}
	}
	return unmasked, nil
}

// inputs are the tensors of a batch; width is the length of its longest row.
func (m *tritonModel) inputs(rows []Row, width int) []triton.Tensor {
	ids := make([]int64, 0, len(rows)*width)
	var temperature, noise, gamma []float32
	var stepSize, seed []int64
	for _, row := range rows {
		for _, id := range row.IDs {
			ids = append(ids, int64(id))
		}
		for range width - len(row.IDs) {
			ids = append(ids, int64(m.PAD))
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

// unmasked returns a row's tokens from the padded answer. It fails if the model changed given tokens, left masks or answered
// an id outside its vocabulary.
func (m *tritonModel) unmasked(row Row, answer []int64) ([]int32, error) {
	ids := make([]int32, len(row.IDs))
	for i, before := range row.IDs {
		id := answer[i]
		if id < 0 || id >= int64(m.Size()) || before != m.MASK && id != int64(before) || id == int64(m.MASK) {
			return nil, fault.New(fault.Internal, "model %s answered token %d for %d in place %d", m.name, id, before, i)
		}
		ids[i] = int32(id)
	}
	return ids, nil
}
