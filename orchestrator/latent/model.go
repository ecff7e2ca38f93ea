package latent

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// Model is a molecule model with a latent space. What a row gives does not
// depend on the rows beside it, and rows of all requests share calls.
type Model interface {
	// Facts are those of the model list.
	Facts() Listed
	// Space is the latent space: its size and how training molecules lie in it.
	Space() *Space
	// Tokens are the ids of a canonical SMILES. The error is Invalid and has no
	// path: the caller knows which field the text came from.
	Tokens(smiles string) ([]int32, *fault.Error)
	// Words are the ids that a text is made of: all but the special ones.
	Words() []int32
	// Encode gives one hidden state of Space().Size() numbers per row of ids.
	Encode(ctx context.Context, rows [][]int32) ([][]float32, error)
	// Decode gives one SMILES per point. It may not be a valid one.
	Decode(ctx context.Context, points []Point) ([]string, error)
	// Beams gives the SMILES of a beam search from each hidden state, likeliest
	// first, at most size and at least one. They may not be valid. A model
	// without beam search answers Invalid, with the path beam_size.
	Beams(ctx context.Context, hiddens [][]float32, size int) ([][]string, error)
}

// Point is a hidden state to decode.
type Point struct {
	Hidden []float32
	// Temperature 0 takes the likeliest token at every place; above it tokens
	// are drawn, by the random numbers that Seed stands for.
	Temperature float32
	Seed        int64
}

// Tensors of the entries: model_repository/README.md.
const (
	inputIDs         = "input_ids"
	inputMask        = "attention_mask"
	tensorHiddens    = "hiddens"
	inputTemperature = "temperature"
	inputSeed        = "seed"
	inputBeamSize    = "beam_size"
	outputTokens     = "token_ids"
	outputScore      = "score"
)

// network is a Model on Triton: two entries of the model repository with the
// parameter role "encoder" and "decoder", and a third with "beam_decoder"
// where the model has beam search.
type network struct {
	listed     Listed
	space      *Space
	vocabulary *tokenizers.Vocabulary
	tokenizer  *tokenizers.SMILES
	words      []int32
	maxTokens  int
	client     *triton.Client
	encoder    string
	decoder    string
	beams      string // "" without beam search

	encoding *triton.Batcher[[]int32, []float32]
	decoding *triton.Batcher[Point, string]
	beaming  *triton.Batcher[wide, []string]
}

// Opener opens models over a client; batching bounds what is sent at once. Of
// the encoder's entry it reads the parameters owned_by, created,
// max_model_len, vocab and statistics (see [Space]).
func Opener(client *triton.Client, batching triton.BatchOptions) func([]*triton.Model) (Model, error) {
	return func(entries []*triton.Model) (Model, error) {
		roles := map[string]*triton.Model{}
		for _, e := range entries {
			role := e.Parameter("role", "")
			if other, twice := roles[role]; twice {
				return nil, fmt.Errorf("models %s and %s are both the %s of %s", other.Name, e.Name, role, e.PublicID())
			}
			roles[role] = e
		}
		return open(client, roles, batching)
	}
}

func open(client *triton.Client, roles map[string]*triton.Model, batching triton.BatchOptions) (*network, error) {
	encoder, decoder, beams := roles["encoder"], roles["decoder"], roles["beam_decoder"]
	if encoder == nil || decoder == nil {
		return nil, errors.New("an encoder and a decoder are needed; check the parameter role")
	}
	n := &network{client: client, encoder: encoder.Name, decoder: decoder.Name}
	if err := n.read(encoder); err != nil {
		return nil, err
	}
	for _, e := range []*triton.Model{decoder, beams} {
		if e == nil {
			continue
		}
		if in, ok := e.Config.Input(tensorHiddens); !ok || len(in.Shape) == 0 || in.Shape[len(in.Shape)-1] != int64(n.space.Size()) {
			return nil, fmt.Errorf("model %s has no input %s of %d numbers as the encoder gives", e.Name, tensorHiddens, n.space.Size())
		}
	}
	n.batch(encoder, decoder, beams, batching)
	return n, nil
}

// read takes over what the encoder's entry says.
func (n *network) read(entry *triton.Model) (err error) {
	n.listed = Listed{ID: entry.PublicID(), Object: "model", OwnedBy: entry.Parameter("owned_by", "retort")}
	if n.listed.Created, err = strconv.ParseInt(entry.Parameter("created", "0"), 10, 64); err != nil {
		return fmt.Errorf("parameter created is no Unix time: %w", err)
	}
	if n.maxTokens, err = strconv.Atoi(entry.Parameter("max_model_len", "128")); err != nil || n.maxTokens < 1 {
		return fmt.Errorf("parameter max_model_len is no length: %q", entry.Parameter("max_model_len", ""))
	}
	size, err := entry.OutputSize(tensorHiddens)
	if err != nil {
		return err
	}
	file, err := entry.File(entry.Parameter("vocab", "vocab.txt"))
	if err != nil {
		return err
	}
	if n.vocabulary, err = tokenizers.LoadVocabulary(file); err != nil {
		return err
	}
	if n.tokenizer, err = tokenizers.NewSMILES(n.vocabulary); err != nil {
		return err
	}
	n.words = n.vocabulary.Words()
	if file, err = entry.File(entry.Parameter("statistics", "latent.json")); err != nil {
		return err
	}
	n.space, err = loadSpace(file, size)
	return err
}

// batch makes the three batchers. Decoding is a loop over all tokens of a
// molecule, so a call is long, whatever its rows hold: rows are cut by number
// only, and one call less than elsewhere is under way at once, which lets the
// rows of many optimisations gather.
func (n *network) batch(encoder, decoder, beams *triton.Model, o triton.BatchOptions) {
	long := o
	long.Concurrency = max(1, o.Concurrency-1, decoder.Config.Concurrency())
	long.MaxWaiting = 1 << 20 // bounded by the API's concurrency: a run must not fail half way
	o.MaxRows = max(1, encoder.Config.MaxBatch)
	n.encoding = triton.NewBatcher(func(row []int32) int { return len(row) }, n.encode, o)
	long.MaxRows = max(1, decoder.Config.MaxBatch)
	long.MaxTokens = long.MaxRows
	n.decoding = triton.NewBatcher(func(Point) int { return 1 }, n.decode, long)
	if beams != nil {
		n.beams = beams.Name
		long.MaxRows = max(1, beams.Config.MaxBatch)
		long.MaxTokens = max(10, decoder.Config.MaxBatch)
		n.beaming = triton.NewBatcher(func(w wide) int { return w.size }, n.search, long)
	}
}

func (n *network) Facts() Listed { return n.listed }

func (n *network) Space() *Space { return n.space }

func (n *network) Tokens(smiles string) ([]int32, *fault.Error) {
	ids, err := n.tokenizer.Encode(smiles)
	var token *tokenizers.TokenError
	switch {
	case errors.As(err, &token):
		return nil, fault.Field("value_error", smiles, nil, "Value error, the model does not know the token %s", strconv.Quote(token.Token))
	case err != nil:
		return nil, fault.Field("value_error", smiles, nil, "Value error, %v", err)
	case len(ids) > n.maxTokens:
		f := fault.Field("value_error", smiles, nil, "Value error, the molecule has %d tokens, the model takes at most %d", len(ids), n.maxTokens)
		f.Limits = map[string]any{"max_length": n.maxTokens, "actual_length": len(ids)}
		return nil, f
	}
	return ids, nil
}

func (n *network) Words() []int32 { return n.words }

func (n *network) Encode(ctx context.Context, rows [][]int32) ([][]float32, error) {
	return n.encoding.Do(ctx, rows)
}

func (n *network) Decode(ctx context.Context, points []Point) ([]string, error) {
	return n.decoding.Do(ctx, points)
}

func (n *network) Beams(ctx context.Context, hiddens [][]float32, size int) ([][]string, error) {
	if n.beaming == nil {
		return nil, fault.Field("value_error", size, []any{"beam_size"}, "Value error, the model %s has no beam search", n.listed.ID)
	}
	rows := make([]wide, len(hiddens))
	for i, h := range hiddens {
		rows[i] = wide{hidden: h, size: size}
	}
	return n.beaming.Do(ctx, rows)
}
