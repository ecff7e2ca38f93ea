package masked

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// Tensors of every unmasking model, B rows of L tokens, padded after [EOS]:
// model_repository/README.md.
const (
	inputIDs         = "input_ids"   // INT64 [B, L]
	inputTemperature = "temperature" // FP32 [B, 1]
	inputNoise       = "noise"       // FP32 [B, 1]
	inputGamma       = "gamma"       // FP32 [B, 1]
	inputStepSize    = "step_size"   // INT64 [B, 1]
	inputSeed        = "seed"        // INT64 [B, 1]
	outputIDs        = "token_ids"   // INT64 [B, L]
)

// tritonModel is a Model that Triton runs: the whole unmasking loop of a batch
// is one call, and the rows of all requests share calls.
type tritonModel struct {
	*tokenizers.SAFE
	id      string
	name    string
	most    int
	worth   float64
	lengths *lengths
	client  *triton.Client
	batcher *triton.Batcher[Row, []int32]
}

// versioned is an id that ends in a version.
var versioned = regexp.MustCompile(`[-_.:@]v?\d[\w.]*$`)

// Opener opens models over a client: an entry's parameters max_model_len,
// mask_worth, vocab and lengths, and the files these name. batching bounds what is sent at
// once.
func Opener(client *triton.Client, batching triton.BatchOptions) func(*triton.Model) (Model, error) {
	return func(entry *triton.Model) (Model, error) {
		m := &tritonModel{id: entry.PublicID(), name: entry.Name, client: client}
		if !versioned.MatchString(m.id) {
			m.id += "-v" + entry.Version()
		}
		var err error
		if m.most, err = strconv.Atoi(entry.Parameter("max_model_len", "256")); err != nil || m.most < 8 {
			return nil, fmt.Errorf("parameter max_model_len is no length: %q", entry.Parameter("max_model_len", ""))
		}
		if m.worth, err = strconv.ParseFloat(entry.Parameter("mask_worth", "1"), 64); err != nil || m.worth < 1 || m.worth > 100 {
			return nil, fmt.Errorf("parameter mask_worth is no number from 1 to 100: %q", entry.Parameter("mask_worth", ""))
		}
		if err := m.read(entry); err != nil {
			return nil, err
		}
		if entry.Config.MaxBatch > 0 {
			batching.MaxRows = entry.Config.MaxBatch
		}
		m.batcher = triton.NewBatcher(func(row Row) int { return len(row.IDs) }, m.infer, batching)
		return m, nil
	}
}

// read loads the files beside the entry.
func (m *tritonModel) read(entry *triton.Model) error {
	file, err := entry.File(entry.Parameter("vocab", "vocab.txt"))
	if err != nil {
		return err
	}
	vocabulary, err := tokenizers.LoadVocabulary(file)
	if err != nil {
		return err
	}
	if m.SAFE, err = tokenizers.NewSAFE(vocabulary); err != nil {
		return err
	}
	if file, err = entry.File(entry.Parameter("lengths", "lengths.txt")); err != nil {
		return err
	}
	m.lengths, err = readLengths(file)
	return err
}

func (m *tritonModel) ID() string                   { return m.id }
func (m *tritonModel) MaxTokens() int               { return m.most }
func (m *tritonModel) Mask() int32                  { return m.MASK }
func (m *tritonModel) MaskWorth() float64           { return m.worth }
func (m *tritonModel) Length(random *rand.Rand) int { return m.lengths.draw(random) }

func (m *tritonModel) Unmask(ctx context.Context, rows []Row) ([][]int32, error) {
	return m.batcher.Do(ctx, rows)
}

// infer is one call.
func (m *tritonModel) infer(ctx context.Context, rows []Row) ([][]int32, error) {
	width := 0
	for _, row := range rows {
		width = max(width, len(row.IDs))
	}
	response, err := m.client.Infer(ctx, &triton.Request{Model: m.name, Outputs: []string{outputIDs}, Inputs: m.inputs(rows, width)})
	if err != nil {
		return nil, err
	}
	output, err := response.Output(outputIDs)
	if err != nil {
		return nil, err
	}
	ids, err := output.Int64s()
	if err != nil {
		return nil, err
	}
	if len(ids) != len(rows)*width {
		return nil, fault.New(fault.Internal, "model %s answered %d tokens for %d rows of %d", m.name, len(ids), len(rows), width)
	}
	return m.filled(rows, ids, width)
}

// inputs are the tensors of a call.
func (m *tritonModel) inputs(rows []Row, width int) []triton.Tensor {
	n := len(rows)
	ids := make([]int64, n*width)
	temperature, noise, gamma := make([]float32, n), make([]float32, n), make([]float32, n)
	size, seed := make([]int64, n), make([]int64, n)
	for i, row := range rows {
		for j := range width {
			ids[i*width+j] = int64(m.PAD)
		}
		for j, id := range row.IDs {
			ids[i*width+j] = int64(id)
		}
		temperature[i], noise[i], gamma[i], size[i], seed[i] = row.Temperature, row.Noise, row.Gamma, row.StepSize, row.Seed
	}
	one := []int64{int64(n), 1}
	return []triton.Tensor{
		triton.Int64s(inputIDs, []int64{int64(n), int64(width)}, ids),
		triton.Float32s(inputTemperature, one, temperature), triton.Float32s(inputNoise, one, noise),
		triton.Float32s(inputGamma, one, gamma), triton.Int64s(inputStepSize, one, size), triton.Int64s(inputSeed, one, seed),
	}
}

// filled takes the rows out of the answer. A model that changes given tokens,
// or leaves masks, is not one of this kind.
func (m *tritonModel) filled(rows []Row, ids []int64, width int) ([][]int32, error) {
	out := make([][]int32, len(rows))
	for i, row := range rows {
		out[i] = make([]int32, len(row.IDs))
		for j, given := range row.IDs {
			id := int32(ids[i*width+j])
			if given != m.MASK && id != given || id == m.MASK {
				return nil, fault.New(fault.Internal, "model %s answered token %d for %d in place %d", m.name, id, given, j)
			}
			out[i][j] = id
		}
	}
	return out, nil
}
