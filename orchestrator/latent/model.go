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
	// Facts returns the entry of the model list.
	Facts() Listed
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

// network is a Model on Triton: entries of the model repository with the parameter role "encoder" and "decoder", and
// "beam_decoder" if the model has beam search.
type network struct {
	listed     Listed
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

func open(client *triton.Client, roles map[string]*triton.EntryReader, options batching.Options) (*network, error) {
	encoder := roles["encoder"]
	decoder := roles["decoder"]
	beams := roles["beam_decoder"] // nil without beam search
	if encoder == nil || decoder == nil {
		return nil, errors.New("an encoder and a decoder are needed; check the parameter role")
	}
	n := &network{client: client, encoder: encoder.Name, decoder: decoder.Name}
	if err := n.read(encoder); err != nil {
		return nil, err
	}
	for _, r := range []*triton.EntryReader{decoder, beams} {
		if r == nil {
			continue
		}
		size := int64(n.space.Size())
		if in, ok := r.Config.Input(tensorHiddens); !ok || len(in.Shape) == 0 || in.Shape[len(in.Shape)-1] != size {
			return nil, fmt.Errorf("model %s has no input %s of %d numbers, the size of the encoder's output",
				r.Name, tensorHiddens, size)
		}
		if err := r.Done(); err != nil {
			return nil, fmt.Errorf("model %s: %w", r.Name, err)
		}
	}
	n.batch(encoder.Model, decoder.Model, options)
	if beams != nil {
		n.batchBeams(beams.Model, options)
	}
	return n, nil
}

// read reads the parameters and outputs of the encoder's entry.
func (n *network) read(r *triton.EntryReader) (err error) {
	size, err := r.OutputSize(tensorHiddens)
	r.Check(err)
	for _, out := range r.Outputs {
		if out.Name == tensorEmbedding {
			n.vectorSize, err = r.OutputSize(tensorEmbedding)
			r.Check(err)
		}
	}
	n.listed = Listed{ID: r.PublicID(), Object: "model", Created: r.Created(), OwnedBy: r.OwnedBy()}
	n.maxTokens = r.Whole("max_model_len", 128, 1)
	n.vocabulary = triton.ReadFile(r, "vocab", "vocab.txt", molecules.LoadVocabulary)
	n.space = triton.ReadFile(r, "statistics", "latent.json", func(file string) (*search.Space, error) {
		return loadSpace(file, size)
	})
	if err := r.Done(); err != nil {
		return err
	}
	n.textTokens = n.vocabulary.Words()
	n.tokenizer, err = molecules.NewSMILES(n.vocabulary)
	return err
}

func (n *network) Facts() Listed { return n.listed }

func (n *network) Space() *search.Space { return n.space }

func (n *network) TextTokens() []int32 { return n.textTokens }

func (n *network) Tokens(smiles string) ([]int32, error) {
	ids, err := n.tokenizer.Encode(smiles)
	var token *molecules.TokenError
	switch {
	case errors.As(err, &token):
		return nil, fault.Field("value_error", smiles, nil,
			"Value error, the model does not know the token %s", strconv.Quote(token.Token))
	case err != nil:
		return nil, fault.Field("value_error", smiles, nil, "Value error, %v", err)
	case len(ids) > n.maxTokens:
		f := fault.Field("value_error", smiles, nil,
			"Value error, the molecule has %d tokens, the model takes at most %d", len(ids), n.maxTokens)
		f.Limits = map[string]any{"max_length": n.maxTokens, "actual_length": len(ids)}
		return nil, f
	}
	return ids, nil
}

func (n *network) Encode(ctx context.Context, rows [][]int32) ([][]float32, error) {
	return n.encoding.Do(ctx, rows)
}

func (n *network) Embed(ctx context.Context, rows [][]int32) ([][]float32, error) {
	if n.embedding == nil {
		return n.Encode(ctx, rows)
	}
	return n.embedding.Do(ctx, rows)
}

func (n *network) Decode(ctx context.Context, points []search.Point) ([]string, error) {
	return n.decoding.Do(ctx, points)
}

func (n *network) Beams(ctx context.Context, hiddens [][]float32, size int) ([][]string, error) {
	if n.beams == nil {
		return nil, fault.Field("value_error", size, []any{"beam_size"},
			"Value error, the model %s has no beam search", n.listed.ID)
	}
	rows := make([]beamRow, len(hiddens))
	for i, h := range hiddens {
		rows[i] = beamRow{hidden: h, size: size}
	}
	return n.beams.Do(ctx, rows)
}
