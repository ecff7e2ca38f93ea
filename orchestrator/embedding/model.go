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

// Model turns texts into vectors. A caller need not know:
//   - how texts share the model's time: rows of all requests are batched;
//   - whether a text's vector depends on the texts beside it: it does not,
//     beyond the rounding of sums in another order (1e-5);
//   - what happens when the client leaves: the work ends with ctx;
//   - whether it may be used by many goroutines at once: it may.
type Model interface {
	About() About
	// Embed returns one vector of About().Width numbers per text, in the order of the texts and of length 1, and the
	// number of tokens that the model saw, special ones included. mode is "query" or "passage" for a model with two
	// modes, else "". truncate is Request.Truncate. A text that is too long is Invalid, with its path.
	Embed(ctx context.Context, texts []string, mode, truncate string) (vectors [][]float32, tokens int, err error)
}

// About is what the API says of a model, and what its rules depend on.
type About struct {
	ID, OwnedBy string
	Created     int64 // Unix time in seconds
	// TwoModes is the first family of models: it wants to know whether a text is a query or a passage. The second does
	// not, and refuses to be told.
	TwoModes bool
	// DefaultMode is that of texts of which a lenient request does not say what they are; "" for none.
	DefaultMode string
	// LeastDimensions is the shortest vector to be had, Width the longest.
	LeastDimensions, Width int
}

// outputVector is the tensor with the vectors, FP32 [rows, width]: model_repository/README.md.
const outputVector = "sentence_embedding"

// tritonModel is a Model that Triton serves.
type tritonModel struct {
	*encoder.Encoder
	about    About
	prefixes map[string]string // by mode, put before the text
}

// Opener opens embedding models over a client; options bound what is sent at once. Beyond the parameters of every
// encoder it reads modes, default_mode, query_prefix, passage_prefix and dimensions.
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

// leastDimensions reads the parameter dimensions: "384" for nothing shorter than the model's width, "128-384" for a
// range.
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
