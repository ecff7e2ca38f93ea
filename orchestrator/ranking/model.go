package ranking

import (
	"context"
	"errors"
	"fmt"

	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// outputLogits is the tensor with one logit per pair:
// model_repository/README.md.
const outputLogits = "logits"

// Ranker is a cross-encoder.
type Ranker struct{ *encoder.Encoder }

// Opener opens rankers over a client; batching bounds what is sent at once.
func Opener(client *triton.Client, batching triton.BatchOptions) func(*triton.Model) (*Ranker, error) {
	return func(entry *triton.Model) (*Ranker, error) {
		e, err := encoder.Open(client, entry, outputLogits, batching)
		if err != nil {
			return nil, err
		}
		if e.Width != 1 {
			return nil, fmt.Errorf("output %s has %d numbers per pair, not 1", outputLogits, e.Width)
		}
		return &Ranker{e}, nil
	}
}

// tokenize pairs the query with each passage as the model's post-processor
// does. Only the passage is cut.
func (m *Ranker) tokenize(ctx context.Context, r Request) ([]*tokenizers.Encoding, error) {
	opts := tokenizers.Options{MaxLength: m.MaxTokens, Strategy: tokenizers.OnlySecond}
	if r.Truncate == "NONE" {
		opts.Strategy = tokenizers.Refuse
	}
	return encoder.Tokenize(ctx, len(r.Passages), func(i int) (*tokenizers.Encoding, error) {
		row, err := m.Tokenizer.EncodePair(r.Query.Text, r.Passages[i].Text, opts)
		var long *tokenizers.LengthError
		if errors.As(err, &long) {
			return nil, encoder.TooLong(long, "passages", i, "text")
		}
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "Input could not be tokenized").Under("passages", i, "text")
		}
		return row, nil
	})
}
