package ranking

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/encoder"
	"retort/tokenizers"
)

// loadTokenizer reads a tokenizer of the test data of package tokenizers.
func loadTokenizer(t *testing.T, name string) *tokenizers.Tokenizer {
	t.Helper()
	return parseTokenizer(t, readTokenizer(t, name))
}

// readTokenizer returns the tokenizer.json of a tokenizer.
func readTokenizer(t *testing.T, name string) []byte {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "..", "tokenizers", "testdata", name, "tokenizer.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parseTokenizer(t *testing.T, text []byte) *tokenizers.Tokenizer {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokenizer.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	tokenizer, err := tokenizers.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}

// The error for a wrong template says what is wrong.
func TestWrongTemplates(t *testing.T) {
	plain := loadTokenizer(t, "bpe-qwen2")
	withEnd := loadTokenizer(t, "bpe-qwen3")
	for text, c := range map[string]struct {
		tokenizer *tokenizers.Tokenizer
		want      string
	}{
		"query: {query}":                      {plain, "{query} and {passage} once each"},
		"{passage} for {passage} and {query}": {plain, "{query} and {passage} once each"},
		"{passage} for {query}":               {plain, "{query} must be before {passage}"},
		"{query} {passage} end":               {withEnd, "must end with {passage}"},
	} {
		if _, err := ParsePairTemplate(text, c.tokenizer); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q in it", text, err, c.want)
		}
	}
}

// A pair has the tokens of its text as a whole. Only the passage is truncated: query and end stay.
func TestTemplateTokens(t *testing.T) {
	const text = "<|im_start|>user\n<Query>: {query}\n<Document>: {passage}<|im_end|>\n<|im_start|>assistant\n"
	tokenizer := loadTokenizer(t, "bpe-qwen2")
	e := &encoder.Encoder{Tokenizer: tokenizer}
	template, err := ParsePairTemplate(text, tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	whole := func(query, passage string) []int32 { return wholePair(t, tokenizer, text, query, passage) }
	cut := func(limit int) tokenizers.Options {
		return tokenizers.Options{MaxLength: limit, Strategy: tokenizers.OnlySecond}
	}
	const query = "How are substances distilled?"
	// Placeholders in the texts of clients are text. Special tokens are recognized, as in the published code.
	passages := []string{"", "a", "In a retort, of glass.", "{query} {passage}", "two\n\n", "<|im_end|>"}
	for _, passage := range passages {
		row, err := template.Encode(e, query, passage, cut(512))
		want := whole(query, passage)
		if err != nil || !slices.Equal(row.IDs, want) || len(row.TypeIDs) != len(want) {
			t.Errorf("%q: %v, %v, want %v", passage, row, err, want)
		}
	}

	long := strings.Repeat("retort ", 500)
	empty := len(whole(query, ""))
	limit := empty + 10
	row, err := template.Encode(e, query, long, cut(limit))
	if err != nil {
		t.Fatal(err)
	}
	all := whole(query, long)
	end := len(template.end)
	if want := slices.Concat(all[:limit-end], all[len(all)-end:]); !slices.Equal(row.IDs, want) {
		t.Errorf("truncated to %v, want %v", row.IDs, want)
	}
	for name, c := range map[string]struct {
		query, passage string
		options        tokenizers.Options
		length         int
	}{
		"long query": {long, "a", cut(100), len(whole(long, ""))},
		"long pair":  {query, long, tokenizers.Options{MaxLength: 100, Strategy: tokenizers.Refuse}, len(all)},
	} {
		_, err := template.Encode(e, c.query, c.passage, c.options)
		tooLong, ok := errors.AsType[*tokenizers.LengthError](err)
		if !ok || tooLong.Length != c.length || tooLong.Max != 100 {
			t.Errorf("%s: error %v, want length %d of at most 100", name, err, c.length)
		}
	}
}

// Each chunk has the whole query and the whole template, and the chunks have the whole passage.
func TestTemplateChunks(t *testing.T) {
	const text = "<|im_start|>user\n<Query>: {query}\n<Document>: {passage}<|im_end|>\n<|im_start|>assistant\n"
	tokenizer := loadTokenizer(t, "bpe-qwen2")
	template, err := ParsePairTemplate(text, tokenizer)
	if err != nil {
		t.Fatal(err)
	}
	const query = "How are substances distilled?"
	empty := len(wholePair(t, tokenizer, text, query, ""))
	e := &encoder.Encoder{Tokenizer: tokenizer, MaxTokens: empty + 40}
	options := encoder.ChunkOptions{Budget: encoder.NewChunkBudget(100)}
	fits := "In a retort, of glass."
	chunks, cut, err := template.EncodeChunks(e, query, fits, options)
	if want := wholePair(t, tokenizer, text, query, fits); err != nil || cut || len(chunks) != 1 ||
		!slices.Equal(chunks[0].IDs, want) {
		t.Fatalf("%v, %v, want %v", chunks, err, want)
	}
	long := strings.Repeat("In a retort, of glass. ", 50)
	all := wholePair(t, tokenizer, text, query, long)
	end := len(template.end)
	start := empty - end - 1 // the space before an empty passage is part of the first word of any other
	chunks, cut, err = template.EncodeChunks(e, query, long, options)
	if err != nil || cut || len(chunks) < 5 {
		t.Fatalf("%d chunks, %v", len(chunks), err)
	}
	read := 0 // tokens of the passage that the chunks so far have
	for i, chunk := range chunks {
		passage := chunk.IDs[start : len(chunk.IDs)-end]
		if i > 0 {
			read -= 5 // the overlap: an eighth of 40
		}
		if len(chunk.IDs) > e.MaxTokens || len(chunk.TypeIDs) != len(chunk.IDs) ||
			!slices.Equal(chunk.IDs[:start], all[:start]) ||
			!slices.Equal(passage, all[start+read:start+read+len(passage)]) ||
			!slices.Equal(chunk.IDs[len(chunk.IDs)-end:], template.end) {
			t.Fatalf("chunk %d is %v", i, chunk.IDs)
		}
		read += len(passage)
	}
	if read != len(all)-start-end {
		t.Errorf("the chunks have %d of %d tokens", read, len(all)-start-end)
	}
	options.MostTokens = 50
	if chunks, cut, err = template.EncodeChunks(e, query, long, options); err != nil || !cut || len(chunks) != 2 {
		t.Errorf("of 50 tokens: %d chunks, cut %v, %v", len(chunks), cut, err)
	}
	_, _, err = template.EncodeChunks(e, long, "a", options)
	tooLong, ok := errors.AsType[*tokenizers.LengthError](err)
	if want := len(wholePair(t, tokenizer, text, long, "a")); !ok || tooLong.Length != want || tooLong.Max != e.MaxTokens {
		t.Errorf("a query that is too long: %v, want length %d", err, want)
	}
}

// A pair has the ids that the Hugging Face tokenizers library gives the prompts of Qwen3-Reranker and
// llama-nemotron-rerank-1b-v2, also if texts have the names of special tokens. scripts/golden/decoder_tokens.py writes
// them.
func TestPairsEqualTokenizersLibrary(t *testing.T) {
	file, err := os.ReadFile("testdata/pairs.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Tokenizer string  `json:"tokenizer"`
		Template  string  `json:"template"`
		MaxLength int     `json:"max_length"`
		Query     string  `json:"query"`
		Passage   string  `json:"passage"`
		IDs       []int32 `json:"ids"`
	}
	if err := json.Unmarshal(file, &rows); err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	known := map[string]*tokenizers.Tokenizer{}
	for _, row := range rows {
		tokenizer := known[row.Tokenizer]
		if tokenizer == nil {
			text := readTokenizer(t, row.Tokenizer)
			if !strings.HasSuffix(row.Template, passageMark) {
				text = withoutEnds(t, text)
			}
			tokenizer = parseTokenizer(t, text)
			known[row.Tokenizer] = tokenizer
		}
		template, err := ParsePairTemplate(row.Template, tokenizer)
		if err != nil {
			t.Fatal(err)
		}
		options := tokenizers.Options{MaxLength: row.MaxLength, Strategy: tokenizers.OnlySecond}
		got, err := template.Encode(&encoder.Encoder{Tokenizer: tokenizer}, row.Query, row.Passage, options)
		if err != nil || !slices.Equal(got.IDs, row.IDs) {
			t.Errorf("%s, query %q, passage %q: %v, %v, want %v",
				row.Tokenizer, row.Query, row.Passage, got, err, row.IDs)
		}
	}
}

// withoutEnds returns a tokenizer.json whose post-processor adds no tokens.
func withoutEnds(t *testing.T, text []byte) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	members["post_processor"] = json.RawMessage("null")
	text, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// wholePair returns the tokens of the text of a pair.
func wholePair(t *testing.T, tokenizer *tokenizers.Tokenizer, template, query, passage string) []int32 {
	t.Helper()
	head, end, _ := strings.Cut(template, passageMark)
	row, err := tokenizer.Encode(strings.Replace(head, queryMark, query, 1)+passage+end, tokenizers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return row.IDs
}
