package ranking

import (
	"compress/gzip"
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
		if _, err := parseTemplate(text, c.tokenizer); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q in it", text, err, c.want)
		}
	}
}

// A pair has the tokens of its text as a whole. Only the passage is truncated: query and end stay.
func TestTemplateTokens(t *testing.T) {
	const text = "<|im_start|>user\n<Query>: {query}\n<Document>: {passage}<|im_end|>\n<|im_start|>assistant\n"
	tokenizer := loadTokenizer(t, "bpe-qwen2")
	e := &encoder.Encoder{Tokenizer: tokenizer}
	template, err := parseTemplate(text, tokenizer)
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
		row, err := template.encode(e, query, passage, cut(512))
		want := whole(query, passage)
		if err != nil || !slices.Equal(row.IDs, want) || len(row.TypeIDs) != len(want) {
			t.Errorf("%q: %v, %v, want %v", passage, row, err, want)
		}
	}

	long := strings.Repeat("retort ", 500)
	empty := len(whole(query, ""))
	limit := empty + 10
	row, err := template.encode(e, query, long, cut(limit))
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
		_, err := template.encode(e, c.query, c.passage, c.options)
		tooLong, ok := errors.AsType[*tokenizers.LengthError](err)
		if !ok || tooLong.Length != c.length || tooLong.Max != 100 {
			t.Errorf("%s: error %v, want length %d of at most 100", name, err, c.length)
		}
	}
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
