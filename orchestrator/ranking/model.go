package ranking

import (
	"context"
	"fmt"

	"retort/orchestrator/encoder"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// Model tells how well passages answer a query. A caller need not know:
//   - how passages share the model's time: pairs of all requests are batched;
//   - whether a passage's logit depends on the passages beside it: it does not,
//     beyond the rounding of sums in another order (1e-5);
//   - what happens when the client leaves: the work ends with ctx;
//   - whether it may be used by many goroutines at once: it may.
type Model interface {
	// Score returns one logit per passage, in the order of the passages: unbounded, higher for better. Request.Truncate
	// is honoured for passages only; a pair that is too long is Invalid, with the passage's path.
	Score(ctx context.Context, r Request) ([]float32, error)
}

// outputLogits is the tensor with one logit per pair, FP32 [rows, 1]: model_repository/README.md.
const outputLogits = "logits"

// tritonModel is a cross-encoder that Triton serves.
type tritonModel struct{ *encoder.Encoder }

// Opener opens rankers over a client; batching bounds what is sent at once.
func Opener(client *triton.Client, batching triton.BatchOptions) func(*triton.Model) (Model, error) {
	return func(model *triton.Model) (Model, error) {
		entry := model.Read()
		m := &tritonModel{encoder.Open(client, entry, outputLogits, batching)}
		if m.Width > 1 {
			entry.Check(fmt.Errorf("output %s has %d numbers per pair, not 1", outputLogits, m.Width))
		}
		return m, entry.Done()
	}
}

// Score pairs the query with each passage as the model's post-processor does. Only the passage is cut.
func (m *tritonModel) Score(ctx context.Context, r Request) ([]float32, error) {
	options := tokenizers.Options{MaxLength: m.MaxTokens, Strategy: tokenizers.OnlySecond}
	if r.Truncate == "NONE" {
		options.Strategy = tokenizers.Refuse
	}
	path := func(i int) []any { return []any{"passages", i, "text"} }
	rows, err := encoder.Tokenize(ctx, len(r.Passages), path, func(i int) (*tokenizers.Encoding, error) {
		return m.EncodePair(r.Query.Text, r.Passages[i].Text, options)
	})
	if err != nil {
		return nil, err
	}
	out, _, err := m.Run(ctx, rows)
	if err != nil {
		return nil, err
	}
	logits := make([]float32, len(out))
	for i, row := range out {
		logits[i] = row[0]
	}
	return logits, nil
}
