package tokenizers

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestRefuseReportsLength(t *testing.T) {
	tok := loadGolden(t, "testdata/wordpiece")
	text := strings.Repeat("word ", 20)
	for _, max := range []int{1, 2, 21} {
		_, err := tok.Encode(text, Options{MaxLength: max})
		var tooLong *LengthError
		if !errors.As(err, &tooLong) || *tooLong != (LengthError{Length: 22, Max: max}) {
			t.Errorf("limit %d: error %v, want length 22", max, err)
		}
	}
	if e, err := tok.Encode(text, Options{MaxLength: 22}); err != nil || len(e.IDs) != 22 {
		t.Errorf("limit 22: error %v, want 22 tokens", err)
	}
	if _, err := tok.Encode(text, Options{MaxLength: 1, Strategy: LongestFirst}); err == nil {
		t.Error("limit 1, below the number of special tokens: no error")
	}
}

func TestInvalidUTF8(t *testing.T) {
	for _, folder := range goldenFolders(t) {
		tok := loadGolden(t, folder)
		for _, text := range []string{"a\xffb", "\xe2\x82", "x\xf0\x90\x80 y", "\xc0\x80"} {
			got, err := tok.Encode(text, Options{})
			if err != nil {
				t.Fatal(err)
			}
			want, err := tok.Encode(replaceInvalid(text), Options{})
			if err != nil || !slices.Equal(got.IDs, want.IDs) {
				t.Errorf("%s: %q: %v, want %v, %v", folder, text, got.IDs, want.IDs, err)
			}
		}
	}
}

func replaceInvalid(s string) string {
	var out strings.Builder
	for _, r := range s {
		out.WriteRune(r)
	}
	return out.String()
}

// TestConcurrent is also for the race detector.
func TestConcurrent(t *testing.T) {
	for _, folder := range goldenFolders(t) {
		tok := loadGolden(t, folder)
		var all []golden
		rows(t, filepath.Join(folder, "golden.jsonl.gz"), func(g golden) { all = append(all, g) })
		all = all[:min(len(all), 150)]
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				for _, g := range all {
					if e, err := tok.Encode(g.Text, Options{}); err != nil || !slices.Equal(e.IDs, g.IDs) {
						t.Errorf("%s: %q: %v, want %v, %v", folder, g.Text, e, g.IDs, err)
					}
				}
			})
		}
		group.Wait()
	}
}

func TestEncodeAllocatesOnlyTheEncoding(t *testing.T) {
	tok := loadGolden(t, "testdata/wordpiece")
	encode := func() {
		if _, err := tok.Encode("The quick brown Füchse, 狐 jumped over 13 lazy dogs.", Options{}); err != nil {
			t.Fatal(err)
		}
	}
	encode()
	if n := testing.AllocsPerRun(100, encode); n > 3.1 && !raceEnabled {
		t.Errorf("%v allocations, want 3: the encoding and its two slices", n)
	}
}

// TestLongWords tokenizes 256 KiB without a space, which is slow unless all stages are nearly linear.
func TestLongWords(t *testing.T) {
	text := strings.Repeat("abcdefgh", 1<<15)
	for _, folder := range goldenFolders(t) {
		e, err := loadGolden(t, folder).Encode(text, Options{})
		if err != nil || len(e.IDs) == 0 {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

// FuzzEncode derives the tokenizer and the options from choice, so that each run is short.
func FuzzEncode(f *testing.F) {
	var toks []*Tokenizer
	for _, folder := range goldenFolders(f) {
		toks = append(toks, loadGolden(f, folder))
		n := 0
		before := ""
		rows(f, filepath.Join(folder, "golden.jsonl.gz"), func(g golden) {
			if n++; n%10 == 0 {
				f.Add(g.Text, before, uint16(n), uint8(n))
			}
			before = g.Text
		})
	}
	f.Fuzz(func(t *testing.T, text, second string, choice uint16, max uint8) {
		tok := toks[int(choice/8)%len(toks)]
		checkEncoding(t, tok, text)
		o := Options{MaxLength: int(max), Strategy: Strategy(choice % 4), Direction: Direction(choice / 4 % 2)}
		p, err := tok.EncodePair(text, second, o)
		var tooLong *LengthError
		if err != nil && (!errors.As(err, &tooLong) || tooLong.Length <= o.MaxLength) {
			t.Errorf("%q, %q: %v", text, second, err)
		}
		if err == nil && max > 0 && len(p.IDs) > int(max) {
			t.Errorf("%q, %q: %d tokens, at most %d are allowed", text, second, len(p.IDs), max)
		}
	})
}

// checkEncoding checks that ids are tokens. If the vocabulary is byte-level, the tokenizer has no normalizer and the
// text no added token, it also checks that the texts of the tokens, joined, are the text.
func checkEncoding(t *testing.T, tok *Tokenizer, text string) {
	ids, err := tok.tokenize(&pass{}, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if id < 0 || int(id) >= tok.Size() {
			t.Errorf("%q: id %d is not a token", text, id)
		}
	}
	m, ok := tok.model.(*bpe)
	if !ok || !m.byteLevel || tok.normalize != nil {
		return
	}
	tokens := map[int32]string{}
	for token, id := range m.raw {
		tokens[id] = token
	}
	for _, id := range tok.addedIDs {
		delete(tokens, id)
	}
	var joined strings.Builder
	for _, id := range ids {
		token, ok := tokens[id]
		if !ok {
			return
		}
		joined.WriteString(token)
	}
	if joined.String() != replaceInvalid(text) {
		t.Errorf("%q has the tokens %q", text, joined.String())
	}
}
