package latent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retort/chem"
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
	// Vectors returns the number of vectors of a hidden state, which divides Space().Size().
	Vectors() int
	// HasBeams reports whether the model has beam search.
	HasBeams() bool
	// Seen returns a sample of the molecules that the model was trained on, or nil if there is none.
	Seen() *chem.Sample
	// Entry returns the entry of the model list.
	Entry() ModelEntry
}

// tritonModel is a Model served by Triton: entries of the model repository with the parameter role "encoder" and
// "decoder", and "beam_decoder" if the model has beam search.
type tritonModel struct {
	modelEntry ModelEntry
	space      *search.Space
	seen       *chem.Sample // nil without one
	vocabulary *molecules.Vocabulary
	tokenizer  *molecules.SMILES
	textTokens []int32
	maxTokens  int // of a molecule
	vectorSize int // of the output embedding; 0 for an encoder without it
	encoderTensors

	client      *triton.Client
	encoder     string // names of the entries
	decoder     string
	decoding    decoderTensors
	beamHiddens []int64 // shape of the hidden state of the beam decoder, without the rows
	beamDecoder string  // "" without beam search

	encodings  *batching.Batcher[[]int32, []float32]
	embeddings *batching.Batcher[[]int32, []float32] // nil for an encoder without the output
	texts      *batching.Batcher[search.Point, string]
	beams      *batching.Batcher[beamRow, []string] // nil without beam search
}

// Opener returns a function that opens a model from its entries. options bound the calls. The parameters are role for
// every entry, and owned_by, created, max_model_len, special_tokens, vocab, statistics (see [loadSpace]) and
// training_sample for the encoder. How molecules are sent and returned follows from the tensors that the entries
// declare.
func Opener(client *triton.Client, options batching.Options) func([]*triton.Model) (Model, error) {
	return func(entries []*triton.Model) (Model, error) {
		readers := map[string]*triton.EntryReader{}
		for _, entry := range entries {
			r := entry.Read()
			role := r.Text("role", "")
			if !slices.Contains(roles, role) {
				return nil, fmt.Errorf("model %s: parameter role must be one of %s, not %q",
					r.Name, strings.Join(roles, ", "), role)
			}
			if other, ok := readers[role]; ok {
				return nil, fmt.Errorf("models %s and %s are both the %s of %s", other.Name, r.Name, role, r.PublicID())
			}
			readers[role] = r
		}
		return open(client, readers, options)
	}
}

// roles are the values of the parameter role.
var roles = []string{"encoder", "decoder", "beam_decoder"}

func open(
	client *triton.Client, readers map[string]*triton.EntryReader, options batching.Options,
) (*tritonModel, error) {
	encoder := readers["encoder"]
	decoder := readers["decoder"]
	beams := readers["beam_decoder"] // nil without beam search
	if encoder == nil || decoder == nil {
		return nil, errors.New("an encoder and a decoder are needed; check the parameter role")
	}
	m := &tritonModel{client: client, encoder: encoder.Name, decoder: decoder.Name}
	if err := m.read(encoder); err != nil {
		return nil, err
	}
	if err := m.readDecoders(decoder, beams); err != nil {
		return nil, err
	}
	m.createBatchers(encoder.Model, decoder.Model, options)
	if beams != nil {
		m.createBeamBatcher(beams.Model, options)
	}
	return m, nil
}

// read reads the parameters and tensors of the encoder's entry.
func (m *tritonModel) read(r *triton.EntryReader) (err error) {
	m.encoderTensors = readEncoderTensors(r)
	if _, ok := r.Config.Output(tensorEmbedding); ok {
		m.vectorSize, err = r.OutputSize(tensorEmbedding)
		r.Check(err)
	}
	m.modelEntry = ModelEntry{ID: r.PublicID(), Object: "model", Created: r.Created(), OwnedBy: r.OwnedBy()}
	m.maxTokens = r.Whole("max_model_len", 128, 1)
	framed := r.OneOf("special_tokens", "none", "bos_eos") == "bos_eos"
	m.vocabulary = triton.ReadFile(r, "vocab", "vocab.txt", molecules.LoadVocabulary)
	m.space = triton.ReadFile(r, "statistics", "latent.json", func(file string) (*search.Space, error) {
		return loadSpace(file, m.size)
	})
	m.seen = triton.ReadOptional(r, "training_sample", chem.SampleFile, chem.LoadSample)
	if err := r.Done(); err != nil {
		return fmt.Errorf("model %s: %w", r.Name, err)
	}
	m.bos, m.eos = -1, -1
	if m.readsText {
		m.tokenizer = molecules.NewParts(m.vocabulary)
		return nil
	}
	m.textTokens = m.vocabulary.Words()
	if m.tokenizer, err = molecules.NewSMILES(m.vocabulary); err != nil {
		return fmt.Errorf("model %s: %w", r.Name, err)
	}
	special := 0
	if framed {
		m.bos, m.eos = m.vocabulary.BOS, m.vocabulary.EOS
		special = 2
		if m.bos < 0 {
			return fmt.Errorf("model %s: parameter special_tokens is bos_eos, and the vocabulary has no [BOS]", r.Name)
		}
	}
	if m.width > 0 && m.maxTokens+special > m.width {
		return fmt.Errorf("model %s: parameter max_model_len is %d, and input %s has %d tokens, special tokens included",
			r.Name, m.maxTokens, tensorIDs, m.width)
	}
	return nil
}

// readDecoders reads the tensors of the entries of the decoder and of the beam decoder, which may be nil.
func (m *tritonModel) readDecoders(decoder, beams *triton.EntryReader) error {
	m.decoding = readDecoderTensors(decoder, m.size, false)
	if m.decoding.output == tensorLogits {
		logits, _ := decoder.Config.Output(tensorLogits)
		if last := logits.Shape[len(logits.Shape)-1]; last != int64(m.vocabulary.Size()) {
			decoder.Check(fmt.Errorf("output %s has %d numbers per token, and the vocabulary %d tokens",
				tensorLogits, last, m.vocabulary.Size()))
		}
	}
	if m.decoding.output != tensorSMILES && m.vocabulary.EOS < 0 {
		decoder.Check(fmt.Errorf("output %s needs the token [EOS] in the vocabulary", m.decoding.output))
	}
	if beams != nil {
		m.beamHiddens = readDecoderTensors(beams, m.size, true).shape
		if err := beams.Done(); err != nil {
			return fmt.Errorf("model %s: %w", beams.Name, err)
		}
	}
	if err := decoder.Done(); err != nil {
		return fmt.Errorf("model %s: %w", decoder.Name, err)
	}
	return nil
}

func (m *tritonModel) Entry() ModelEntry { return m.modelEntry }

func (m *tritonModel) Seen() *chem.Sample { return m.seen }

func (m *tritonModel) Vectors() int { return m.vectors }

func (m *tritonModel) HasBeams() bool { return m.beams != nil }

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
	return m.encodings.Do(ctx, rows)
}

func (m *tritonModel) Embed(ctx context.Context, rows [][]int32) ([][]float32, error) {
	if m.embeddings == nil {
		return m.Encode(ctx, rows)
	}
	return m.embeddings.Do(ctx, rows)
}

func (m *tritonModel) Decode(ctx context.Context, points []search.Point) ([]string, error) {
	return m.texts.Do(ctx, points)
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
