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
