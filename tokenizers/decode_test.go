package tokenizers

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// decoded is a row of a golden file of scripts/golden/tokenizers_decoders.py, with results of the reference library.
type decoded struct {
	Decoder json.RawMessage `json:"decoder"`
	IDs     []int32         `json:"ids"`
	Skip    bool            `json:"skip"`
	Tokens  []string        `json:"tokens"` // "" for an id without a token
	Text    string          `json:"text"`
}

func TestGoldenDecodedTexts(t *testing.T) {
	for _, folder := range goldenFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			tok := loadGolden(t, folder)
			rows(t, filepath.Join(folder, "decoded.jsonl.gz"), func(row decoded) {
				text, err := tok.Decode(row.IDs, row.Skip)
				if err != nil || text != row.Text {
					t.Errorf("%v: got %q, %v, want %q", row.IDs, text, err, row.Text)
				}
				for i, id := range row.IDs {
					if token, ok := tok.Token(id); token != row.Tokens[i] || ok != (token != "") {
						t.Errorf("%d: got token %q, want %q", id, token, row.Tokens[i])
					}
				}
			})
		})
	}
}

func TestGoldenDecoders(t *testing.T) {
	rows(t, "testdata/decoders.jsonl.gz", func(row decoded) {
		decode, err := parseDecoder(row.Decoder)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(decode(slices.Clone(row.Tokens)), ""); got != row.Text {
			t.Errorf("%s of %q: got %q, want %q", row.Decoder, row.Tokens, got, row.Text)
		}
	})
}

// TestUnsupportedDecoders checks that a file with an unsupported decoder encodes texts but decodes none.
func TestUnsupportedDecoders(t *testing.T) {
	for _, decoder := range []string{
		`{"type": "CTC"}`, `{"type": "Strip", "content": "", "start": 1000000000000, "stop": 0}`,
		`{"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"Regex": "a"}, "content": ""}]}`,
		`{"type": "WordPiece", "prefix": "##"}`, `5`,
	} {
		tok, err := parse([]byte(`{"version": "1.0", "added_tokens": [], "decoder": ` + decoder +
			`, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}`))
		if err != nil {
			t.Fatal(decoder, err)
		}
		if e, err := tok.Encode("a", Options{}); err != nil || len(e.IDs) != 1 {
			t.Errorf("%s: %v, %v", decoder, e, err)
		}
		if text, err := tok.Decode([]int32{0}, false); err == nil || !strings.HasPrefix(err.Error(), "decoder: ") {
			t.Errorf("%s: %q, %v", decoder, text, err)
		}
	}
}
