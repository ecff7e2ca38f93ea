package tokenizers

import (
	"path/filepath"
	"testing"
)

// placedRow is a row of a golden file of scripts/golden/tokenizers_spans.py, with results of the reference library.
type placedRow struct {
	Text    string   `json:"text"`
	IDs     []int32  `json:"ids"`
	Special []int    `json:"special"`
	Spans   [][2]int `json:"spans"` // bytes
}

// Places are those of the reference library or unknown.
func TestGoldenSpans(t *testing.T) {
	for _, folder := range goldenFolders(t) {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			tok := loadGolden(t, folder)
			texts, unknown := 0, 0
			rows(t, filepath.Join(folder, "spans.jsonl.gz"), func(row placedRow) {
				spans, err := tok.Spans(row.Text, true)
				if err != nil || len(spans) != len(row.IDs) {
					t.Fatalf("%q: %d tokens, %v, want %d", row.Text, len(spans), err, len(row.IDs))
				}
				texts++
				for i, s := range spans {
					if s.ID != row.IDs[i] || s.Special != (row.Special[i] == 1) {
						t.Errorf("%q, token %d: %+v, want id %d, special %d", row.Text, i, s, row.IDs[i], row.Special[i])
					}
					if s.Special {
						continue
					}
					if s.Start < 0 {
						unknown++
						break
					}
					if [2]int{s.Start, s.Stop} != row.Spans[i] || s.Text != row.Text[s.Start:s.Stop] {
						t.Errorf("%+q, token %d: %+v, want %v", row.Text, i, s, row.Spans[i])
					}
				}
			})
			if most := 6; unknown > most && filepath.Base(folder) != "bpe-llama2" { // puts a space before each piece
				t.Errorf("%d of %d texts have no places, want at most %d", unknown, texts, most)
			}
		})
	}
}

// FuzzSpans checks that the tokens of any text are those of Encode, with places in the text or none.
func FuzzSpans(f *testing.F) {
	var all []*Tokenizer
	for _, folder := range goldenFolders(f) {
		all = append(all, loadGolden(f, folder))
	}
	for _, text := range []string{"", " two  words ", "Ünïcode e\u0301 東京", "[SEP] </s> <0x41>", "\u00a0a\u3000\x00\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, tok := range all {
			spans, err1 := tok.Spans(text, true)
			row, err2 := tok.Encode(text, Options{})
			if err1 != nil || err2 != nil || len(spans) != len(row.IDs) {
				t.Fatalf("%d spans, %v; %d tokens, %v", len(spans), err1, len(row.IDs), err2)
			}
			for i, s := range spans {
				if s.ID != row.IDs[i] || s.Start > s.Stop || s.Stop-s.Start > 0 && s.Stop-s.Start != len(s.Text) {
					t.Errorf("token %d: %+v, want id %d", i, s, row.IDs[i])
				}
			}
		}
	})
}
