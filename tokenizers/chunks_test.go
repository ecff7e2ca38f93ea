package tokenizers

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestWindows(t *testing.T) {
	for _, c := range []struct {
		n, room, overlap int
		want             [][2]int
	}{
		{0, 4, 1, [][2]int{{0, 0}}},
		{4, 4, 1, [][2]int{{0, 4}}},
		{5, 4, 1, [][2]int{{0, 4}, {3, 5}}},
		{10, 4, 1, [][2]int{{0, 4}, {3, 7}, {6, 10}}},
		{10, 4, 0, [][2]int{{0, 4}, {4, 8}, {8, 10}}},
		{10, 1, 0, [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}, {8, 9}, {9, 10}}},
		{1, 0, 0, nil},
		{9, 2, 2, nil},
		{0, -1, 0, nil},
	} {
		got, err := Windows(c.n, c.room, c.overlap)
		if !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("%d tokens, room %d, overlap %d: %v, %v, want %v", c.n, c.room, c.overlap, got, err, c.want)
		}
	}
}

// Chunks have the tokens of the text in order. Only those of the overlap occur twice, and each chunk has the special
// tokens and the prefix.
func TestChunks(t *testing.T) {
	tok, err := Load("../model_repository/minilm_embed/tokenizer.json")
	if err != nil {
		t.Fatal(err)
	}
	ids, err1 := tok.Tokens(strings.Repeat("Aspirin eases pain, and more. ", 40))
	prefix, err2 := tok.Tokens("query:")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	made := 0
	options := ChunkOptions{MaxLength: 32, Overlap: 4, MayMake: func(n int) error { made = n; return nil }}
	for name, encode := range map[string]func() ([]Chunk, error){
		"single": func() ([]Chunk, error) { return tok.Chunks(prefix, ids, options) },
		"pair":   func() ([]Chunk, error) { return tok.PairChunks(prefix, ids, options) },
	} {
		chunks, err := encode()
		if err != nil {
			t.Fatal(err)
		}
		special := 2
		if name == "pair" {
			special = 3
		}
		var all []int32
		for i, c := range chunks {
			if len(c.IDs) > 32 || len(c.IDs) != len(c.TypeIDs) || c.Tokens != len(c.IDs)-special-len(prefix) {
				t.Errorf("%s, chunk %d: %d ids, %d type ids, %d tokens", name, i, len(c.IDs), len(c.TypeIDs), c.Tokens)
			}
			if !slices.Equal(c.IDs[1:1+len(prefix)], prefix) {
				t.Errorf("%s, chunk %d starts with %v, want %v", name, i, c.IDs[1:1+len(prefix)], prefix)
			}
			text := c.IDs[len(c.IDs)-1-c.Tokens : len(c.IDs)-1]
			if i > 0 {
				if !slices.Equal(text[:4], all[len(all)-4:]) {
					t.Errorf("%s: chunks %d and %d do not overlap", name, i-1, i)
				}
				text = text[4:]
			}
			all = append(all, text...)
		}
		if !slices.Equal(all, ids) || made != len(chunks) {
			t.Errorf("%s: %d tokens in %d chunks, want %d tokens in %d chunks", name, len(all), len(chunks), len(ids), made)
		}
	}
	refused := errors.New("refused")
	options.MayMake = func(int) error { return refused }
	if _, err := tok.Chunks(nil, ids, options); !errors.Is(err, refused) {
		t.Errorf("error %v, want %v", err, refused)
	}
	options.MaxLength = 4
	var long *LengthError
	if _, err := tok.PairChunks(prefix, ids, options); !errors.As(err, &long) || long.Length != len(ids)+len(prefix)+3 {
		t.Errorf("a first text without room for a second: %v", err)
	}
}
