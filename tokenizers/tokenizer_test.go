package tokenizers

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestRefuseSaysTheLength(t *testing.T) {
	tok := loadGolden(t, "testdata/wordpiece")
	text := strings.Repeat("word ", 20)
	for _, max := range []int{1, 2, 21} {
		_, err := tok.Encode(text, Options{MaxLength: max})
		var tooLong *LengthError
		if !errors.As(err, &tooLong) || *tooLong != (LengthError{Length: 22, Max: max}) {
			t.Errorf("limit %d: %v", max, err)
		}
	}
	if e, err := tok.Encode(text, Options{MaxLength: 22}); err != nil || len(e.IDs) != 22 {
		t.Errorf("limit 22: %v", err)
	}
	if _, err := tok.Encode(text, Options{MaxLength: 1, Strategy: LongestFirst}); err == nil {
		t.Error("a limit below the added tokens was met")
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
			want, err := tok.Encode(replaceBad(text), Options{})
			if err != nil || !slices.Equal(got.IDs, want.IDs) {
				t.Errorf("%s: %q: %v, want %v, %v", folder, text, got.IDs, want.IDs, err)
			}
		}
	}
}

func replaceBad(s string) string {
	var out strings.Builder
	for _, r := range s {
		out.WriteRune(r)
	}
	return out.String()
}

// TestConcurrent is of use under the race detector, too.
func TestConcurrent(t *testing.T) {
	for _, folder := range goldenFolders(t) {
		tok := loadGolden(t, folder)
		var all []golden
		rows(t, filepath.Join(folder, "golden.jsonl.gz"), func(g golden) { all = append(all, g) })
		all = all[:min(len(all), 150)]
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				var e Encoding
				for _, g := range all {
					if err := tok.EncodeInto(&e, g.Text, Options{}); err != nil || !slices.Equal(e.IDs, g.IDs) {
						t.Errorf("%s: %q: %v, want %v, %v", folder, g.Text, e.IDs, g.IDs, err)
					}
				}
			})
		}
		group.Wait()
	}
}

func TestEncodeIntoDoesNotAllocate(t *testing.T) {
	tok := loadGolden(t, "testdata/wordpiece")
	var e Encoding
	encode := func() {
		if err := tok.EncodeInto(&e, "The quick brown Füchse, 狐 jumped over 13 lazy dogs.", Options{}); err != nil {
			t.Fatal(err)
		}
	}
	encode()
	if n := testing.AllocsPerRun(100, encode); n > 0.1 && !raceEnabled {
		t.Errorf("%v allocations", n)
	}
}

// TestLongWords has no text take more than linear time, nearly: a megabyte without a space is done in a moment.
func TestLongWords(t *testing.T) {
	text := strings.Repeat("abcdefgh", 1<<15)
	for _, folder := range goldenFolders(t) {
		e, err := loadGolden(t, folder).Encode(text, Options{Bare: true})
		if err != nil || len(e.IDs) == 0 || e.Offsets[len(e.IDs)-1].End != int32(len(text)) {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

func FuzzEncode(f *testing.F) {
	var toks []*Tokenizer
	for _, folder := range goldenFolders(f) {
		toks = append(toks, loadGolden(f, folder))
		n := 0
		rows(f, filepath.Join(folder, "golden.jsonl.gz"), func(g golden) {
			if n++; n%10 == 0 {
				f.Add(g.Text, uint8(n), g.Decoded)
			}
		})
	}
	f.Fuzz(func(t *testing.T, text string, max uint8, second string) {
		for _, tok := range toks {
			checkEncoding(t, tok, text, second, int(max))
		}
	})
}

// checkEncoding wants offsets within the text and in order, ids of the vocabulary, limits kept, and text that was decoded
// to be encoded and decoded to itself again where the family promises that.
func checkEncoding(t *testing.T, tok *Tokenizer, text, second string, max int) {
	e, err := tok.Encode(text, Options{})
	if err != nil {
		t.Fatal(err)
	}
	last := Span{}
	for i, o := range e.Offsets {
		if e.Source[i] < 0 {
			continue
		}
		if o.Start < 0 || o.End > int32(len(text)) || o.Start > o.End {
			t.Errorf("%q: token %d has offsets %v", text, i, o)
		}
		// A space put in front of a character stands for it, and is trimmed to its end: the one case of a start going back.
		if o.End < last.End || o.Start < last.Start && !(tok.template.trim && tok.template.prefixed) {
			t.Errorf("%q: token %d goes back from %v to %v", text, i, last, o)
		}
		last = o
		if _, ok := tok.Token(e.IDs[i]); !ok {
			t.Errorf("%q: id %d is no token", text, e.IDs[i])
		}
	}
	_ = e.CharOffsets(text)
	_ = tok.Decode(e.IDs, true)
	for _, strategy := range []Strategy{Refuse, LongestFirst, OnlyFirst, OnlySecond} {
		for _, direction := range []Direction{Left, Right} {
			p, err := tok.EncodePair(text, second, Options{MaxLength: max, Strategy: strategy, Direction: direction})
			var tooLong *LengthError
			if err != nil && (!errors.As(err, &tooLong) || tooLong.Length <= max) {
				t.Errorf("%q: %v", text, err)
			}
			if err == nil && max > 0 && len(p.IDs) > max {
				t.Errorf("%q: %d tokens where %d are allowed", text, len(p.IDs), max)
			}
		}
	}
}
