package tokenizers

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMarksAreOrderedWithoutQuadraticWork has one character with two million marks in the wrong order, which insertion sort would need hours
// for.
func TestMarksAreOrderedWithoutQuadraticWork(t *testing.T) {
	const n = 1 << 20
	p := &pass{}
	p.text.load("a" + strings.Repeat("\u0301", n) + strings.Repeat("\u0323", n) + "b\u0301\u0323")
	p.pieces = []piece{{0, int32(len(p.text.b)), noToken}}
	normalForm{}.apply(p)
	want := "a" + strings.Repeat("\u0323", n) + strings.Repeat("\u0301", n) + "b\u0323\u0301"
	if string(p.text.b) != want {
		t.Errorf("the marks are not in canonical order")
	}
}

// TestAddedTokenTakesSpacesOnce has adjacent tokens that both strip the white space between them.
func TestAddedTokenTakesSpacesOnce(t *testing.T) {
	token := &addedToken{ID: 7, Content: "<m>", LStrip: true, RStrip: true}
	m, err := newMatcher([]*addedToken{token}, map[int32]string{7: "<m>"})
	if err != nil {
		t.Fatal(err)
	}
	p := &pass{}
	p.text.load("a <m>  <m><m> \u00a0 b <m>")
	p.pieces = []piece{{0, int32(len(p.text.b)), noToken}}
	m.apply(p)
	var got []string
	for _, pc := range p.pieces {
		got = append(got, string(p.text.b[pc.lo:pc.hi]))
	}
	if want := []string{"a", " <m>  ", "<m>", "<m> \u00a0 ", "b", " <m>"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// BenchmarkHostile tokenizes texts that are the worst case of some stage, at one size and at four times that: the time per byte must not grow.
func BenchmarkHostile(b *testing.B) {
	units := map[string]string{
		"letters": "a", "digits": "1", "spaces": " ", "tabs": "\t", "newlines": "\n", "spaces and newlines": " \n ", "brackets": "[",
		"special": "<s>", "special with spaces": " <mask> ", "half special": "<|", "unknown": "\U000e0041", "CJK": "狐", "emoji": "👩\u200d",
		"flags": "🇩", "marks": "\u0301\u0323", "Hangul": "\u1100\u1161\u11a8", "apostrophes": "'", "punctuation": "!?", "invalid": "\xff",
		"long decompositions": "\ufdfa",
	}
	for _, folder := range goldenFolders(b) {
		tok := loadGolden(b, folder)
		for name, unit := range units {
			for _, size := range []struct {
				name  string
				bytes int
			}{{"n", 512 << 10}, {"4n", 2 << 20}} {
				text := strings.Repeat(unit, size.bytes/len(unit))
				b.Run(filepath.Base(folder)+"/"+name+"/"+size.name, func(b *testing.B) {
					b.SetBytes(int64(len(text)))
					var e Encoding
					for b.Loop() {
						if err := tok.EncodeInto(&e, text, Options{}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
