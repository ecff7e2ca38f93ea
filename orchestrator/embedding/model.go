package embedding

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// outputVector is the tensor with the vectors: model_repository/README.md.
const outputVector = "sentence_embedding"

// Encoder is an embedding model.
type Encoder struct {
	*encoder.Encoder
	// TwoModes is the first family of models: it wants to know whether a text
	// is a query or a passage. The second does not, and refuses to be told.
	TwoModes bool
	// Prefixes go before the texts of each mode.
	Prefixes map[string]string
	// LeastDimensions is the shortest vector to be had, Width the longest.
	LeastDimensions int
}

// Opener opens embedding models over a client; batching bounds what is sent
// at once. Beyond the parameters of every encoder it reads modes, query_prefix,
// passage_prefix and dimensions.
func Opener(client *triton.Client, batching triton.BatchOptions) func(*triton.Model) (*Encoder, error) {
	return func(entry *triton.Model) (e *Encoder, err error) {
		e = &Encoder{Prefixes: map[string]string{
			"query":   entry.Parameter("query_prefix", ""),
			"passage": entry.Parameter("passage_prefix", ""),
		}}
		switch families := entry.Parameter("modes", "one"); families {
		case "one", "two":
			e.TwoModes = families == "two"
		default:
			return nil, fmt.Errorf(`parameter modes is %q, not "one" or "two"`, families)
		}
		if e.Encoder, err = encoder.Open(client, entry, outputVector, batching); err != nil {
			return nil, err
		}
		e.LeastDimensions, err = leastDimensions(entry.Parameter("dimensions", strconv.Itoa(e.Width)), e.Width)
		return e, err
	}
}

// leastDimensions reads the parameter dimensions: "384" for nothing shorter
// than the model's width, "128-384" for a range.
func leastDimensions(text string, width int) (int, error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	least, err1 := strconv.Atoi(low)
	most, err2 := strconv.Atoi(high)
	if err1 != nil || err2 != nil || least < 1 || most != width || least > most {
		return 0, fmt.Errorf("parameter dimensions %q does not end at the output's %d", text, width)
	}
	return least, nil
}

// tokenize turns texts into rows.
func (e *Encoder) tokenize(ctx context.Context, input []string, mode, truncate string) ([]*tokenizers.Encoding, error) {
	opts := tokenizers.Options{MaxLength: e.MaxTokens, Strategy: tokenizers.OnlyFirst}
	switch truncate {
	case "NONE":
		opts.Strategy = tokenizers.Refuse
	case "START":
		opts.Direction = tokenizers.Left
	}
	prefix := e.Prefixes[mode]
	return encoder.Tokenize(ctx, len(input), func(i int) (*tokenizers.Encoding, error) {
		row, err := e.Tokenizer.Encode(prefix+input[i], opts)
		var long *tokenizers.LengthError
		if errors.As(err, &long) {
			return nil, encoder.TooLong(long, "input", i)
		}
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "Input could not be tokenized").Under("input", i)
		}
		return row, nil
	})
}
