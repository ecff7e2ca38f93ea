package embedding

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// Model turns rows of tokens into vectors of length 1, in order. A row's
// vector does not depend on the rows beside it.
type Model interface {
	Embed(ctx context.Context, rows []*tokenizers.Encoding) ([][]float32, error)
}

// Encoder is a model with what its entry in the model repository says of it.
type Encoder struct {
	ID, OwnedBy     string
	Created         int64
	TwoModes        bool
	QueryPrefix     string
	PassagePrefix   string
	MaxTokens       int
	Dimensions      int
	LeastDimensions int
	tokenizer       *tokenizers.Tokenizer
	model           Model
}

// Opener opens models over a client; batching bounds what is sent at once.
func Opener(client *triton.Client, batching triton.BatchOptions) func(*triton.Model) (*Encoder, error) {
	return func(entry *triton.Model) (*Encoder, error) {
		e, err := Open(entry)
		if err != nil {
			return nil, err
		}
		e.model = newTritonModel(client, entry, e, batching)
		return e, nil
	}
}

// Open reads an entry of the model repository: the parameters of its
// config.pbtxt (model_repository/README.md lists them) and its tokenizer.
func Open(entry *triton.Model) (*Encoder, error) {
	e := &Encoder{
		ID:            entry.PublicID(),
		OwnedBy:       entry.Parameter("owned_by", "retort"),
		QueryPrefix:   entry.Parameter("query_prefix", ""),
		PassagePrefix: entry.Parameter("passage_prefix", ""),
	}
	switch modes := entry.Parameter("modes", "one"); modes {
	case "one", "two":
		e.TwoModes = modes == "two"
	default:
		return nil, fmt.Errorf(`parameter modes is %q, not "one" or "two"`, modes)
	}
	var err error
	if e.MaxTokens, err = strconv.Atoi(entry.Parameter("max_model_len", "512")); err != nil || e.MaxTokens < 4 {
		return nil, fmt.Errorf("parameter max_model_len is no length: %q", entry.Parameter("max_model_len", ""))
	}
	if e.Created, err = strconv.ParseInt(entry.Parameter("created", "0"), 10, 64); err != nil {
		return nil, fmt.Errorf("parameter created is no Unix time: %w", err)
	}
	if e.Dimensions, e.LeastDimensions, err = dimensions(entry); err != nil {
		return nil, err
	}
	file, err := entry.File(entry.Parameter("tokenizer", "tokenizer.json"))
	if err != nil {
		return nil, err
	}
	e.tokenizer, err = tokenizers.Load(file)
	return e, err
}

// dimensions reads the size of the model's output, and what the parameter
// dimensions offers: "384" for nothing shorter, "128-384" for a range.
func dimensions(entry *triton.Model) (size, least int, err error) {
	size, err = entry.OutputSize(outputVector)
	if err != nil {
		return 0, 0, err
	}
	text := entry.Parameter("dimensions", strconv.Itoa(size))
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	least, err1 := strconv.Atoi(low)
	most, err2 := strconv.Atoi(high)
	if err1 != nil || err2 != nil || least < 1 || most != size || least > most {
		return 0, 0, fmt.Errorf("parameter dimensions %q does not end at the output's %d", text, size)
	}
	return size, least, nil
}

// tokenize turns texts into rows, on all cores when there are many.
func (e *Encoder) tokenize(ctx context.Context, input []string, mode, truncate string) ([]*tokenizers.Encoding, error) {
	prefix := map[string]string{"query": e.QueryPrefix, "passage": e.PassagePrefix}[mode]
	opts := tokenizers.Options{MaxLength: e.MaxTokens, Strategy: tokenizers.OnlyFirst}
	switch truncate {
	case "NONE":
		opts.Strategy = tokenizers.Refuse
	case "START":
		opts.Direction = tokenizers.Left
	}
	rows := make([]*tokenizers.Encoding, len(input))
	const chunk = 64
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < len(input); lo += chunk {
		piece := func() error {
			for i := lo; i < min(lo+chunk, len(input)); i++ {
				var err error
				if rows[i], err = e.tokenizer.Encode(prefix+input[i], opts); err != nil {
					return tooLong(i, err)
				}
			}
			return ctx.Err()
		}
		if len(input) <= chunk {
			return rows, piece()
		}
		work.Go(piece)
	}
	return rows, work.Wait()
}

// tooLong words a text above the model's length: clients match on the phrase.
func tooLong(index int, err error) error {
	var long *tokenizers.LengthError
	if !errors.As(err, &long) {
		return fault.Wrap(fault.Invalid, err, "Input could not be tokenized").Under("input", index)
	}
	return &fault.Error{
		Kind: fault.Invalid, Path: []any{"input", index},
		Message: fmt.Sprintf("Input length %d exceeds maximum allowed token size %d", long.Length, long.Max),
	}
}
