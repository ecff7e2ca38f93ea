package embedding

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"retort/orchestrator/encoder"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers"
)

// Model embeds texts. It is safe for concurrent use. The vector of a text does not depend on the other texts, except
// for rounding (1e-5).
type Model interface {
	About() About
	// Embed returns the vectors of texts, in order, with About().Width numbers each, and the number of tokens that the
	// model read, special tokens included. mode is "query" or "passage" for a model with two modes, else "". truncate is
	// Request.Truncate. The error for a text that is too long is Invalid, with its path.
	Embed(ctx context.Context, texts []string, mode, truncate string) (vectors [][]float32, tokens int, err error)
}

// About describes a model.
type About struct {
	ID, OwnedBy string
	Created     int64 // Unix time in seconds
	TwoModes    bool
	DefaultMode string // of lenient requests without InputType; "" refuses them
	// LeastDimensions and Width are the bounds of the length of vectors.
	LeastDimensions, Width int
}

// outputVector is the tensor with the vectors, FP32 [rows, width]: model_repository/README.md.
const outputVector = "sentence_embedding"

// tritonModel is a Model served by Triton.
type tritonModel struct {
	*encoder.Encoder
	about    About
	prefixes map[string]string // by mode
}

// Opener returns a function that opens the model of an entry of the model repository. Beyond the parameters of every
// encoder, the entry may set modes, default_mode, query_prefix, passage_prefix and dimensions.
func Opener(client *triton.Client, options batching.Options) func(*triton.Model) (Model, error) {
	return func(model *triton.Model) (Model, error) {
		entry := model.Read()
		e := encoder.Open(client, entry, outputVector, options)
		m := &tritonModel{
			Encoder: e,
			about: About{
				ID:          e.ID,
				OwnedBy:     e.OwnedBy,
				Created:     e.Created,
				TwoModes:    entry.OneOf("modes", "one", "two") == "two",
				Width:       e.Width,
				DefaultMode: strings.TrimSuffix(entry.OneOf("default_mode", "passage", "query", "none"), "none"),
			},
			prefixes: map[string]string{
				"query":   entry.Text("query_prefix", ""),
				"passage": entry.Text("passage_prefix", ""),
			},
		}
		var err error
		m.about.LeastDimensions, err = leastDimensions(entry.Text("dimensions", strconv.Itoa(e.Width)), e.Width)
		entry.Check(err)
		return m, entry.Done()
	}
}

// leastDimensions returns the lower bound in the parameter dimensions: a range up to the width such as "128-384", or the
// width alone.
func leastDimensions(text string, width int) (int, error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	least, err1 := strconv.Atoi(low)
	most, err2 := strconv.Atoi(high)
	if err1 != nil || err2 != nil || least < 1 || most != width || least > most {
		return 0, fmt.Errorf("parameter dimensions %q is neither the width of the output, %d, nor a range up to it", text, width)
	}
	return least, nil
}

func (m *tritonModel) About() About { return m.about }

func (m *tritonModel) Embed(ctx context.Context, texts []string, mode, truncate string) ([][]float32, int, error) {
	options := tokenizers.Options{MaxLength: m.MaxTokens, Strategy: tokenizers.OnlyFirst}
	switch truncate {
	case "NONE":
		options.Strategy = tokenizers.Refuse
	case "START":
		options.Direction = tokenizers.Left
	}
	prefix := m.prefixes[mode]
	path := func(i int) []any { return []any{"input", i} }
	rows, err := encoder.Tokenize(ctx, len(texts), path, func(i int) (*tokenizers.Encoding, error) {
		return m.Encode(prefix+texts[i], options)
	})
	if err != nil {
		return nil, 0, err
	}
	return m.Run(ctx, rows)
}
