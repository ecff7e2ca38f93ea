package ranking

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"retort/orchestrator/calibration"
	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/tokenizers"
)

// Model scores how well passages answer a query. It is safe for concurrent use. The logit of a passage does not depend
// on the other passages, except for rounding (1e-4).
type Model interface {
	// ID is the public id.
	ID() string
	// Encoder returns the encoder of the model, or nil if it has none.
	Encoder() *encoder.Encoder
	// Calibration maps a logit to the relevance score, from 0 to 1.
	Calibration() calibration.Beta
	// Score returns the logits of the passages, in order, and how much of them was read. The error for a pair that is
	// too long, if it must not be shortened or its query alone is too long, is Invalid with the path of the passage.
	Score(ctx context.Context, p Pairs) (logits []float32, read Reading, err error)
	// ScoreInputs is Score for inputs with a query of their own, or without one.
	ScoreInputs(ctx context.Context, in Inputs) (logits []float32, read Reading, err error)
}

// Long says what happens to a pair that is too long for the model.
type Long int

const (
	// Refuse refuses the request.
	Refuse Long = iota
	// Cut leaves out the end of the passage.
	Cut
	// Chunk cuts the passage into chunks that overlap, each read with the whole query. The logit is that of the best
	// chunk.
	Chunk
)

// Pairs are a query and its passages.
type Pairs struct {
	Query    string
	Passages []string
	Long     Long
	// ShortenQuery cuts the end of a query that takes more than half of the model's window.
	ShortenQuery bool
	// PassageTokens is the most tokens of a passage that are read, unless Long is Refuse; 0: as many as fit.
	PassageTokens int
	// Path returns the path of passage i in the body.
	Path func(i int) []any
}

// DocumentTokens is the most tokens of a document that are read by default: Cohere's default of max_tokens_per_doc.
const DocumentTokens = 4096

// Documents returns pairs of documents, which are read in chunks if they are long.
func Documents(query string, documents []string) Pairs {
	return Pairs{
		Query:         query,
		Passages:      documents,
		Long:          Chunk,
		ShortenQuery:  true,
		PassageTokens: DocumentTokens,
		Path:          func(i int) []any { return []any{"documents", i} },
	}
}

// Inputs are pairs, or single texts, which the model reads without a query.
type Inputs struct {
	Items [][]string // a query and a passage, or a text
	Cut   bool       // cuts off the end of what is too long, else refuses it
	// Path returns the path of item i in the body.
	Path func(i int) []any
}

// Reading says how much of the texts of a request a model read.
type Reading struct {
	encoder.Reading
	QueryCut    bool // the end of the query was not read
	PassagesCut int  // passages of which the end was not read
}

// outputLogits is the tensor with one logit per pair, FP32 [rows, 1]: model_repository/README.md.
const outputLogits = "logits"

// tritonModel is a Model served by Triton.
type tritonModel struct {
	encoder     *encoder.Encoder
	calibration calibration.Beta
	template    *PairTemplate // nil for models that read a pair as two texts
}

// ParameterCalibration is the parameter of an entry with its calibration, as calibration.ParseBeta reads it.
const ParameterCalibration = "relevance_calibration"

// Opener returns a function that opens the ranker of an entry of the model repository.
func Opener(client *triton.Client, options batching.Options) func(*triton.Model) (Model, error) {
	return func(model *triton.Model) (Model, error) {
		entry := model.Read()
		m := &tritonModel{encoder: encoder.Open(client, entry, outputLogits, options)}
		var err error
		m.calibration, err = calibration.ParseBeta(entry.Text(ParameterCalibration, calibration.Identity.String()))
		if err != nil {
			entry.Check(fmt.Errorf("parameter %s: %w", ParameterCalibration, err))
		}
		if text := entry.Text("pair_template", ""); text != "" && m.encoder.Tokenizer != nil {
			if err := m.useTemplate(text); err != nil {
				entry.Check(fmt.Errorf("parameter pair_template: %w", err))
			}
		}
		if m.encoder.Width > 1 {
			entry.Check(fmt.Errorf("output %s has %d numbers per pair, not 1", outputLogits, m.encoder.Width))
		}
		return m, entry.Done()
	}
}

// useTemplate sets the template, which must leave room for a query and a passage.
func (m *tritonModel) useTemplate(text string) error {
	template, err := ParsePairTemplate(text, m.encoder.Tokenizer)
	if err != nil {
		return err
	}
	row, err := template.Encode(m.encoder, "", "", tokenizers.Options{MaxLength: math.MaxInt32})
	if err != nil {
		return err
	}
	if len(row.IDs)+2 > m.encoder.MaxTokens {
		return fmt.Errorf("its own text has %d tokens, which leaves no room for a query and a passage in max_model_len %d",
			len(row.IDs), m.encoder.MaxTokens)
	}
	m.template = template
	return nil
}

func (m *tritonModel) ID() string { return m.encoder.ID }

func (m *tritonModel) Encoder() *encoder.Encoder { return m.encoder }

func (m *tritonModel) Calibration() calibration.Beta { return m.calibration }

func (m *tritonModel) Score(ctx context.Context, p Pairs) (logits []float32, read Reading, err error) {
	if p.ShortenQuery {
		start, err := m.encoder.Start(p.Query, m.encoder.MaxTokens/2)
		if err != nil {
			return nil, read, fault.Wrap(fault.Invalid, err, "Input could not be tokenized").Under("query")
		}
		read.QueryCut = len(start) < len(p.Query)
		p.Query = start
	}
	size := func(i int) int { return len(p.Passages[i]) }
	logits, err = m.score(ctx, pieces(len(p.Passages), size), p.Path, &read, m.rows(p))
	return logits, read, err
}

func (m *tritonModel) ScoreInputs(ctx context.Context, in Inputs) (logits []float32, read Reading, err error) {
	pair, single := m.pairOptions(in.Cut), m.pairOptions(in.Cut)
	if in.Cut {
		single.Strategy = tokenizers.OnlyFirst
	}
	size := func(i int) (bytes int) {
		for _, text := range in.Items[i] {
			bytes += len(text)
		}
		return bytes
	}
	logits, err = m.score(ctx, pieces(len(in.Items), size), in.Path, &read, func(i int) (text, error) {
		if item := in.Items[i]; len(item) == 2 {
			return oneRow(m.EncodePair(item[0], item[1], pair))
		}
		return oneRow(m.encoder.Encode(in.Items[i][0], single))
	})
	return logits, read, err
}

// text is the rows of one passage.
type text struct {
	chunks []tokenizers.Chunk
	cut    bool // there is more of the passage that is not read
}

// oneRow returns the text with a single row.
func oneRow(row *tokenizers.Encoding, err error) (text, error) {
	if err != nil {
		return text{}, err
	}
	return text{chunks: []tokenizers.Chunk{{Encoding: row}}, cut: row.Length > len(row.IDs)}, nil
}

// score returns the best logit of the rows of each passage. It takes the passages piece by piece, so that a request of
// any size has few rows in memory, and the rows of other requests get their turns in between.
func (m *tritonModel) score(
	ctx context.Context, pieces iter.Seq2[int, int], path func(i int) []any, read *Reading,
	encode func(i int) (text, error),
) (logits []float32, err error) {
	for from, to := range pieces {
		texts, err := encoder.Tokenize(ctx, to-from,
			func(i int) []any { return path(from + i) },
			func(i int) (text, error) { return encode(from + i) })
		if err != nil {
			return nil, err
		}
		best, err := m.runTexts(ctx, texts, read)
		if err != nil {
			return nil, err
		}
		logits = append(logits, best...)
	}
	return logits, nil
}

// runTexts returns the best logit of each text.
func (m *tritonModel) runTexts(ctx context.Context, texts []text, read *Reading) ([]float32, error) {
	var rows []*tokenizers.Encoding
	for _, text := range texts {
		read.AddChunks(text.chunks)
		if text.cut {
			read.PassagesCut++
		}
		for _, chunk := range text.chunks {
			rows = append(rows, chunk.Encoding)
		}
	}
	out, err := m.encoder.Run(ctx, rows)
	if err != nil {
		return nil, err
	}
	best := make([]float32, len(texts))
	for i, text := range texts {
		n := len(text.chunks)
		best[i] = slices.MaxFunc(out[:n], func(a, b []float32) int { return cmp.Compare(a[0], b[0]) })[0]
		out = out[n:]
	}
	return best, nil
}

// Bounds of a piece: a request of 512 short passages is one piece.
const (
	piecePassages = 512
	pieceBytes    = 1 << 20
)

// pieces cuts n passages into pieces, and yields the bounds [from, to) of each. size returns the bytes of passage i. A
// passage of more than pieceBytes is a piece by itself.
func pieces(n int, size func(i int) int) iter.Seq2[int, int] {
	return func(yield func(from, to int) bool) {
		for from := 0; from < n; {
			to, bytes := from+1, size(from)
			for to < min(from+piecePassages, n) && bytes+size(to) <= pieceBytes {
				bytes += size(to)
				to++
			}
			if !yield(from, to) {
				return
			}
			from = to
		}
	}
}

// maxChunks is the most rows of the passages of a request: more than twice as many as 16 MiB of English text need.
const maxChunks = 1 << 15

// rows returns a function that tokenizes passage i with the query.
func (m *tritonModel) rows(p Pairs) func(i int) (text, error) {
	if p.Long != Chunk {
		options := m.tokenizerOptions(p)
		return func(i int) (text, error) { return oneRow(m.EncodePair(p.Query, p.Passages[i], options)) }
	}
	options := encoder.ChunkOptions{Budget: encoder.NewChunkBudget(maxChunks), MostTokens: p.PassageTokens}
	query := sync.OnceValues(func() ([]int32, error) { return m.encoder.Tokens(p.Query) })
	return func(i int) (t text, err error) {
		if m.template != nil {
			t.chunks, t.cut, err = m.template.EncodeChunks(m.encoder, p.Query, p.Passages[i], options)
			return t, err
		}
		ids, err := query()
		if err == nil {
			t.chunks, t.cut, err = m.encoder.EncodePairChunks(ids, p.Passages[i], options)
		}
		return t, err
	}
}

// EncodePair tokenizes a query and a passage.
func (m *tritonModel) EncodePair(query, passage string, o tokenizers.Options) (*tokenizers.Encoding, error) {
	if m.template != nil {
		return m.template.Encode(m.encoder, query, passage, o)
	}
	return m.encoder.EncodePair(query, passage, o)
}

func (m *tritonModel) tokenizerOptions(p Pairs) tokenizers.Options {
	options := m.pairOptions(p.Long == Cut)
	if p.Long == Cut && p.PassageTokens > 0 && p.PassageTokens < m.encoder.MaxTokens {
		// An empty passage leaves the tokens that every pair has. An error here returns with each pair.
		if pair, err := m.EncodePair(p.Query, "", options); err == nil {
			options.MaxLength = min(m.encoder.MaxTokens, len(pair.IDs)+p.PassageTokens)
		}
	}
	return options
}

// pairOptions returns the options for pairs that are cut or refused if they are too long.
func (m *tritonModel) pairOptions(cut bool) tokenizers.Options {
	if cut {
		return tokenizers.Options{MaxLength: m.encoder.MaxTokens, Strategy: tokenizers.OnlySecond}
	}
	return tokenizers.Options{MaxLength: m.encoder.MaxTokens, Strategy: tokenizers.Refuse}
}
