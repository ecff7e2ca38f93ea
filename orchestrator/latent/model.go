package latent

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"retort/orchestrator/fault"
	"retort/orchestrator/latent/search"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers/molecules"
)

// Model is a molecule model with a latent space: see [search.Model]. Calls to Triton share the rows of all requests.
// Errors are faults:
//
//   - Tokens: Invalid without a path, since the caller knows which field the SMILES came from.
//   - Encode, Embed, Decode and Beams: Unavailable, Timeout or Canceled, if Triton or the caller's context ended the
//     call; Internal if an answer contradicts the model's entry.
//   - Beams of a model without beam search: Invalid with the path beam_size.
type Model interface {
	search.Model
	// Embed returns the vector of /embedding for each row of token ids. The rows are as for Encode.
	Embed(ctx context.Context, rows [][]int32) ([][]float32, error)
	// Entry returns the entry of the model list.
	Entry() ModelEntry
}

// Tensors of the entries: model_repository/README.md.
const (
	tensorIDs         = "input_ids"      // INT64 [rows, tokens], padded
	tensorMask        = "attention_mask" // INT64 [rows, tokens], 0 for padding
	tensorHiddens     = "hiddens"        // FP32 [rows, 1, size]; output of the encoder, input of the decoders
	tensorEmbedding   = "embedding"      // FP32 [rows, size of the embedding]; optional output of the encoder
	tensorTemperature = "temperature"    // FP32 [rows, 1]
	tensorSeed        = "seed"           // INT64 [rows, 1]
	tensorBeamSize    = "beam_size"      // INT64 [rows, 1]
	tensorTokens      = "token_ids"      // INT64 [rows, tokens], or [rows, beams, tokens] from the beam decoder
	tensorScore       = "score"          // FP32 [rows, 1], or [rows, beams] from the beam decoder
)

// tritonModel is a Model served by Triton: entries of the model repository with the parameter role "encoder" and
// "decoder", and "beam_decoder" if the model has beam search.
type tritonModel struct {
	modelEntry ModelEntry
	space      *search.Space
	vocabulary *molecules.Vocabulary
	tokenizer  *molecules.SMILES
	textTokens []int32
	maxTokens  int // of a molecule
	vectorSize int // of the output embedding; 0 for an encoder without it

	client      *triton.Client
	encoder     string // names of the entries
	decoder     string
	beamDecoder string // "" without beam search

	encoding  *batching.Batcher[[]int32, []float32]
	embedding *batching.Batcher[[]int32, []float32] // nil for an encoder without the output
	decoding  *batching.Batcher[search.Point, string]
	beams     *batching.Batcher[beamRow, []string] // nil without beam search
}

// Opener returns a function that opens a model from its entries. options bound the calls. The parameters are role for
// every entry, and owned_by, created, max_model_len, vocab and statistics (see [loadSpace]) for the encoder.
func Opener(client *triton.Client, options batching.Options) func([]*triton.Model) (Model, error) {
	return func(entries []*triton.Model) (Model, error) {
		roles := map[string]*triton.EntryReader{}
		for _, entry := range entries {
			r := entry.Read()
			role := r.Text("role", "")
			if other, ok := roles[role]; ok {
				return nil, fmt.Errorf("models %s and %s are both the %s of %s", other.Name, r.Name, role, r.PublicID())
			}
			roles[role] = r
		}
		return open(client, roles, options)
	}
}

func open(client *triton.Client, roles map[string]*triton.EntryReader, options batching.Options) (*tritonModel, error) {
	encoder := roles["encoder"]
	decoder := roles["decoder"]
	beams := roles["beam_decoder"] // nil without beam search
	if encoder == nil || decoder == nil {
		return nil, errors.New("an encoder and a decoder are needed; check the parameter role")
	}
	m := &tritonModel{client: client, encoder: encoder.Name, decoder: decoder.Name}
	if err := m.read(encoder); err != nil {
		return nil, err
	}
	for _, r := range []*triton.EntryReader{decoder, beams} {
		if r == nil {
			continue
		}
		size := int64(m.space.Size())
		if in, ok := r.Config.Input(tensorHiddens); !ok || len(in.Shape) == 0 || in.Shape[len(in.Shape)-1] != size {
			return nil, fmt.Errorf("model %s has no input %s of %d numbers, the size of the encoder's output",
				r.Name, tensorHiddens, size)
		}
		if err := r.Done(); err != nil {
			return nil, fmt.Errorf("model %s: %w", r.Name, err)
		}
	}
	m.createBatchers(encoder.Model, decoder.Model, options)
	if beams != nil {
		m.createBeamBatcher(beams.Model, options)
	}
	return m, nil
}

// read reads the parameters and outputs of the encoder's entry.
func (m *tritonModel) read(r *triton.EntryReader) (err error) {
	size, err := r.OutputSize(tensorHiddens)
	r.Check(err)
	for _, out := range r.Outputs {
		if out.Name == tensorEmbedding {
			m.vectorSize, err = r.OutputSize(tensorEmbedding)
			r.Check(err)
		}
	}
	m.modelEntry = ModelEntry{ID: r.PublicID(), Object: "model", Created: r.Created(), OwnedBy: r.OwnedBy()}
	m.maxTokens = r.Whole("max_model_len", 128, 1)
	m.vocabulary = triton.ReadFile(r, "vocab", "vocab.txt", molecules.LoadVocabulary)
	m.space = triton.ReadFile(r, "statistics", "latent.json", func(file string) (*search.Space, error) {
		return loadSpace(file, size)
	})
	if err := r.Done(); err != nil {
		return err
	}
	m.textTokens = m.vocabulary.Words()
	m.tokenizer, err = molecules.NewSMILES(m.vocabulary)
	return err
}

func (m *tritonModel) Entry() ModelEntry { return m.modelEntry }

func (m *tritonModel) Space() *search.Space { return m.space }

func (m *tritonModel) TextTokens() []int32 { return m.textTokens }

func (m *tritonModel) Tokens(smiles string) ([]int32, error) {
	ids, err := m.tokenizer.Encode(smiles)
	var token *molecules.TokenError
	switch {
	case errors.As(err, &token):
		return nil, fault.Field("value_error", smiles, nil,
			"Value error, the model does not know the token %s", strconv.Quote(token.Token))
	case err != nil:
		return nil, fault.Field("value_error", smiles, nil, "Value error, %v", err)
	case len(ids) > m.maxTokens:
		f := fault.Field("value_error", smiles, nil,
			"Value error, the molecule has %d tokens, the model takes at most %d", len(ids), m.maxTokens)
		f.Limits = map[string]any{"max_length": m.maxTokens, "actual_length": len(ids)}
		return nil, f
	}
	return ids, nil
}

func (m *tritonModel) Encode(ctx context.Context, rows [][]int32) ([][]float32, error) {
	return m.encoding.Do(ctx, rows)
}

func (m *tritonModel) Embed(ctx context.Context, rows [][]int32) ([][]float32, error) {
	if m.embedding == nil {
		return m.Encode(ctx, rows)
	}
	return m.embedding.Do(ctx, rows)
}

func (m *tritonModel) Decode(ctx context.Context, points []search.Point) ([]string, error) {
	return m.decoding.Do(ctx, points)
}

func (m *tritonModel) Beams(ctx context.Context, points []search.Point, size int) ([][]string, error) {
	if m.beams == nil {
		return nil, fault.Field("value_error", size, []any{"beam_size"},
			"Value error, the model %s has no beam search", m.modelEntry.ID)
	}
	rows := make([]beamRow, len(points))
	for i, p := range points {
		rows[i] = beamRow{hidden: p.Hidden, size: size}
	}
	return m.beams.Do(ctx, rows)
}
