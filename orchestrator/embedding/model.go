package embedding

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"retort/orchestrator/calibration"
	"retort/orchestrator/encoder"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers"
)

// Model embeds texts. It is safe for concurrent use. The vector of a text does not depend on the other texts, except
// for rounding (1e-5).
type Model interface {
	About() About
	// Embed returns the vectors of texts, in order, with About().Width numbers each, and how much of the texts the
	// model read. The error for a text that is too long is Invalid, with its path.
	Embed(ctx context.Context, texts Texts) (vectors [][]float32, reading encoder.Reading, err error)
	// Encoder returns the encoder of the model, or nil if it has none.
	Encoder() *encoder.Encoder
}

// Texts are the inputs of a request.
type Texts struct {
	Texts     []string
	Mode      string // "query" or "passage" for a model with two modes, else ""
	Truncate  string // Request.Truncate
	MaxChunks int    // of all texts, with the mode CHUNK
}

// About describes a model.
type About struct {
	ID, OwnedBy string
	Created     int64 // Unix time in seconds
	TwoModes    bool
	Pooling     string            // how token vectors become one
	Prefixes    map[string]string // before texts, by mode
	DefaultMode string            // of lenient requests without InputType; "" refuses them
	// LeastDimensions and Width are the bounds of the length of vectors.
	LeastDimensions, Width int
	// Unrelated are percentiles of the cosine similarity of two unrelated texts; empty if they were not measured. Of a
	// model with two modes, one of the texts is a query and the other a passage.
	Unrelated calibration.Percentiles
}

// ParameterUnrelated is the parameter of an entry with About.Unrelated.
const ParameterUnrelated = "unrelated_similarity"

// outputVector is the tensor with the vectors, FP32 [rows, width]: model_repository/README.md.
const outputVector = "sentence_embedding"

// tritonModel is a Model served by Triton.
type tritonModel struct {
	encoder *encoder.Encoder
	about   About
}

// Opener returns a function that opens the model of an entry of the model repository. Beyond the parameters of every
// encoder, the entry may set modes, default_mode, query_prefix, passage_prefix and dimensions.
func Opener(client *triton.Client, options batching.Options) func(*triton.Model) (Model, error) {
	return func(model *triton.Model) (Model, error) {
		entry := model.Read()
		e := encoder.Open(client, entry, outputVector, options)
		m := &tritonModel{
			encoder: e,
			about: About{
				ID:          e.ID,
				OwnedBy:     e.OwnedBy,
				Created:     e.Created,
				TwoModes:    entry.OneOf("modes", "one", "two") == "two",
				Width:       e.Width,
				DefaultMode: strings.TrimSuffix(entry.OneOf("default_mode", "passage", "query", "none"), "none"),
				Pooling:     entry.Text("pooling", "mean"),
				Prefixes: map[string]string{
					"query":   entry.Text("query_prefix", ""),
					"passage": entry.Text("passage_prefix", ""),
				},
			},
		}
		var err error
		m.about.LeastDimensions, err = leastDimensions(entry.Text("dimensions", strconv.Itoa(e.Width)), e.Width)
		entry.Check(err)
		if m.about.Unrelated, err = calibration.ParsePercentiles(entry.Text(ParameterUnrelated, "")); err != nil {
			entry.Check(fmt.Errorf("parameter %s: %w", ParameterUnrelated, err))
		}
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

func (m *tritonModel) Encoder() *encoder.Encoder { return m.encoder }

func (m *tritonModel) Embed(ctx context.Context, t Texts) ([][]float32, encoder.Reading, error) {
	if t.Truncate == "CHUNK" {
		return m.embedChunks(ctx, t)
	}
	options := tokenizers.Options{MaxLength: m.encoder.MaxTokens, Strategy: tokenizers.OnlyFirst}
	switch t.Truncate {
	case "NONE":
		options.Strategy = tokenizers.Refuse
	case "START":
		options.Direction = tokenizers.Left
	}
	prefix := m.about.Prefixes[t.Mode]
	var reading encoder.Reading
	rows, err := encoder.Tokenize(ctx, len(t.Texts), inputPath, func(i int) (*tokenizers.Encoding, error) {
		return m.encoder.Encode(prefix+t.Texts[i], options)
	})
	if err != nil {
		return nil, reading, err
	}
	for _, row := range rows {
		reading.Add(row)
	}
	vectors, err := m.encoder.Run(ctx, rows)
	return vectors, reading, err
}

func inputPath(i int) []any { return []any{"input", i} }

// embedChunks embeds texts of any length. The vector of a text in several chunks is the mean of the chunks' vectors,
// weighted by their tokens and normalized.
func (m *tritonModel) embedChunks(ctx context.Context, t Texts) ([][]float32, encoder.Reading, error) {
	prefix := m.about.Prefixes[t.Mode]
	budget := encoder.NewChunkBudget(t.MaxChunks)
	var reading encoder.Reading
	texts, err := encoder.Tokenize(ctx, len(t.Texts), inputPath, func(i int) ([]tokenizers.Chunk, error) {
		return m.encoder.EncodeChunks(prefix, t.Texts[i], budget)
	})
	if err != nil {
		return nil, reading, err
	}
	var rows []*tokenizers.Encoding
	for _, chunks := range texts {
		reading.AddChunks(chunks)
		for _, chunk := range chunks {
			rows = append(rows, chunk.Encoding)
		}
	}
	out, err := m.encoder.Run(ctx, rows)
	if err != nil {
		return nil, reading, err
	}
	vectors := make([][]float32, len(texts))
	for i, chunks := range texts {
		vectors[i] = weightedMean(out[:len(chunks)], chunks)
		out = out[len(chunks):]
	}
	return vectors, reading, nil
}

// weightedMean returns the normalized mean of the vectors of chunks.
func weightedMean(vectors [][]float32, chunks []tokenizers.Chunk) []float32 {
	if len(vectors) == 1 {
		return vectors[0]
	}
	mean := make([]float32, len(vectors[0]))
	for i, vector := range vectors {
		for j, x := range vector {
			mean[j] += float32(chunks[i].Tokens) * x
		}
	}
	return normalized(mean)
}
