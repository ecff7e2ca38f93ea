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
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestLongWords tokenizes 256 KiB without a space, which is slow unless all stages are nearly linear.
func TestLongWords(t *testing.T) {
	text := strings.Repeat("abcdefgh", 1<<15)
	for _, folder := range goldenFolders(t) {
		e, err := loadGolden(t, folder).Encode(text, Options{Bare: true})
		if err != nil || len(e.IDs) == 0 || e.Offsets[len(e.IDs)-1].End != int32(len(text)) {
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
		rows(f, filepath.Join(folder, "golden.jsonl.gz"), func(g golden) {
			if n++; n%10 == 0 {
				f.Add(g.Text, g.Decoded, uint16(n), uint8(n))
			}
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

// checkEncoding checks that offsets are in the text and ascending and that ids are tokens. If the vocabulary is
// byte-level, the tokenizer has no normalizer and the text no added token, it also checks that decoding is lossless.
func checkEncoding(t *testing.T, tok *Tokenizer, text string) {
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
		// Only here may a start go back: an added space stands for the character after it, and is trimmed to its end.
		if o.End < last.End || o.Start < last.Start && !(tok.post.trim && tok.post.prefixed) {
			t.Errorf("%q: span of token %d goes back from %v to %v", text, i, last, o)
		}
		last = o
		if _, ok := tok.decoderInput(e.IDs[i]); !ok {
			t.Errorf("%q: id %d is not a token", text, e.IDs[i])
		}
	}
	for i, o := range charOffsets(e, text) {
		if o.Start > o.End || int(o.End) > len(text) {
			t.Errorf("%q: token %d has character offsets %v", text, i, o)
		}
	}
	m, ok := tok.model.(*bpe)
	if !ok || !m.byteLevel || tok.normalize != nil || tok.hasAdded(e) {
		return
	}
	if decoded := tok.Decode(e.IDs, true); decoded != replaceInvalid(text) {
		t.Errorf("%q is decoded to %q", text, decoded)
	}
}

// hasAdded reports whether the text has an added token.
func (t *Tokenizer) hasAdded(e *Encoding) bool {
	for i, id := range e.IDs {
		if e.Source[i] >= 0 && t.added[id] != nil {
			return true
		}
	}
	return false
}
