package ranking

import (
	"context"
	"fmt"
	"math"

	"retort/orchestrator/encoder"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers"
)

// Model scores how well passages answer a query. It is safe for concurrent use. The logit of a passage does not depend
// on the other passages, except for rounding (1e-4).
type Model interface {
	// ID is the public id.
	ID() string
	// Score returns the logits of the passages, in order, and the number of tokens of all pairs. The error for a pair
	// that is too long, if it must not be truncated or its query alone is too long, is Invalid with the path of the
	// passage.
	Score(ctx context.Context, p Pairs) (logits []float32, tokens int, err error)
}

// Pairs are a query and its passages.
type Pairs struct {
	Query    string
	Passages []string
	// Truncate cuts the end of a passage if the pair is too long for the model; otherwise such a pair is refused.
	Truncate bool
	// PassageTokens is the most tokens of a passage that are read if Truncate is set; 0 means as many as fit.
	PassageTokens int
	// Path returns the path of passage i in the body.
	Path func(i int) []any
}

// outputLogits is the tensor with one logit per pair, FP32 [rows, 1]: model_repository/README.md.
const outputLogits = "logits"

// tritonModel is a Model served by Triton.
type tritonModel struct {
	*encoder.Encoder
	template *PairTemplate // nil for models that read a pair as two texts
}

// Opener returns a function that opens the ranker of an entry of the model repository.
func Opener(client *triton.Client, options batching.Options) func(*triton.Model) (Model, error) {
	return func(model *triton.Model) (Model, error) {
		entry := model.Read()
		m := &tritonModel{Encoder: encoder.Open(client, entry, outputLogits, options)}
		if text := entry.Text("pair_template", ""); text != "" && m.Tokenizer != nil {
			if err := m.useTemplate(text); err != nil {
				entry.Check(fmt.Errorf("parameter pair_template: %w", err))
			}
		}
		if m.Width > 1 {
			entry.Check(fmt.Errorf("output %s has %d numbers per pair, not 1", outputLogits, m.Width))
		}
		return m, entry.Done()
	}
}

// useTemplate sets the template, which must leave room for a query and a passage.
func (m *tritonModel) useTemplate(text string) error {
	template, err := ParsePairTemplate(text, m.Tokenizer)
	if err != nil {
		return err
	}
	row, err := template.Encode(m.Encoder, "", "", tokenizers.Options{MaxLength: math.MaxInt32})
	if err != nil {
		return err
	}
	if len(row.IDs)+2 > m.MaxTokens {
		return fmt.Errorf("its own text has %d tokens, which leaves no room for a query and a passage in max_model_len %d",
			len(row.IDs), m.MaxTokens)
	}
	m.template = template
	return nil
}

func (m *tritonModel) ID() string { return m.Encoder.ID }

func (m *tritonModel) Score(ctx context.Context, p Pairs) ([]float32, int, error) {
	options := m.tokenizerOptions(p)
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

// EncodePair tokenizes a query and a passage.
func (m *tritonModel) EncodePair(query, passage string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	if m.template != nil {
		return m.template.Encode(m.Encoder, query, passage, o)
	}
	return m.Encoder.EncodePair(query, passage, o)
}

func (m *tritonModel) tokenizerOptions(p Pairs) tokenizers.Options {
	if !p.Truncate {
		return tokenizers.Options{MaxLength: m.MaxTokens, Strategy: tokenizers.Refuse}
	}
	options := tokenizers.Options{MaxLength: m.MaxTokens, Strategy: tokenizers.OnlySecond}
	if p.PassageTokens > 0 && p.PassageTokens < m.MaxTokens {
		// An empty passage leaves the tokens that every pair has. An error here returns with each pair.
		if pair, err := m.EncodePair(p.Query, "", options); err == nil {
			options.MaxLength = min(m.MaxTokens, len(pair.IDs)+p.PassageTokens)
		}
	}
	return options
}
