package ranking

import (
	"context"
	"fmt"

	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers"
)

// Model tells how well passages answer a query. A caller need not know:
//   - how passages share the model's time: pairs of all requests are batched;
//   - whether a passage's logit depends on the passages beside it: it does not,
//     beyond the rounding of sums in another order (1e-5);
//   - what happens when the client leaves: the work ends with ctx;
//   - whether it may be used by many goroutines at once: it may.
type Model interface {
	// ID is the model's public id.
	ID() string
	// Score returns one logit per passage, in the order of the passages: unbounded, higher for better; and the number of
	// tokens of all pairs. A pair that is too long, where it may not be cut or its query alone is, is Invalid with the
	// passage's path.
	Score(ctx context.Context, p Pairs) (logits []float32, tokens int, err error)
}

// Pairs are a query and the passages to score for it.
type Pairs struct {
	Query    string
	Passages []string
	// Cut shortens a passage at its end where a pair is longer than the model takes.
	Cut bool
	// PassageTokens is how many tokens of a passage are read, where it may be cut; 0 for as many as fit.
	PassageTokens int
	// Path is where a passage stands in the body.
	Path func(i int) []any
}

// outputLogits is the tensor with one logit per pair, FP32 [rows, 1]: model_repository/README.md.
const outputLogits = "logits"

// tritonModel is a cross-encoder that Triton serves.
type tritonModel struct{ *encoder.Encoder }

// Opener opens rankers over a client; options bound what is sent at once.
func Opener(client *triton.Client, options batching.Options) func(*triton.Model) (Model, error) {
	return func(model *triton.Model) (Model, error) {
		entry := model.Read()
		m := &tritonModel{encoder.Open(client, entry, outputLogits, options)}
		if m.Width > 1 {
			entry.Check(fmt.Errorf("output %s has %d numbers per pair, not 1", outputLogits, m.Width))
		}
		return m, entry.Done()
	}
}

// ID is the model's public id.
func (m *tritonModel) ID() string { return m.Encoder.ID }

// Score pairs the query with each passage as the model's post-processor does. Only the passage is cut.
func (m *tritonModel) Score(ctx context.Context, p Pairs) ([]float32, int, error) {
	options, err := m.options(p)
	if err != nil {
		return nil, 0, err
	}
	rows, err := encoder.Tokenize(ctx, len(p.Passages), p.Path, func(i int) (*tokenizers.Encoding, error) {
		return m.EncodePair(p.Query, p.Passages[i], options)
	})
	if err != nil {
		return nil, 0, err
	}
	out, tokens, err := m.Run(ctx, rows)
	if err != nil {
		return nil, 0, err
	}
	logits := make([]float32, len(out))
	for i, row := range out {
		logits[i] = row[0]
	}
	return logits, tokens, nil
}

// options say how pairs are cut.
func (m *tritonModel) options(p Pairs) (tokenizers.Options, error) {
	options := tokenizers.Options{MaxLength: m.MaxTokens, Strategy: tokenizers.OnlySecond}
	if !p.Cut {
		options.Strategy = tokenizers.Refuse
		return options, nil
	}
	if p.PassageTokens > 0 && p.PassageTokens < m.MaxTokens {
		// The query beside an empty passage: what a pair has beyond its passage's tokens.
		bare, err := m.EncodePair(p.Query, "", tokenizers.Options{})
		if err != nil {
			return options, fault.Wrap(fault.Invalid, err, "Input could not be tokenized").Under("query")
		}
		options.MaxLength = min(options.MaxLength, len(bare.IDs)+p.PassageTokens)
	}
	return options, nil
}
