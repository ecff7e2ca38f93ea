package tokenizers

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestManyMarks normalizes a character with two million marks in the wrong order. Insertion sort would need hours.
func TestManyMarks(t *testing.T) {
	const n = 1 << 20
	p := &pass{}
	p.load("a" + strings.Repeat("\u0301", n) + strings.Repeat("\u0323", n) + "b\u0301\u0323")
	normalForm{}.apply(p)
	want := "a" + strings.Repeat("\u0323", n) + strings.Repeat("\u0301", n) + "b\u0323\u0301"
	if string(p.text) != want {
		t.Errorf("the marks are not in canonical order")
	}
}

// TestAdjacentStrippingTokens has tokens that both include the white space between them; only the first gets it.
func TestAdjacentStrippingTokens(t *testing.T) {
	token := &addedToken{ID: 7, form: "<m>", LStrip: true, RStrip: true}
	m, err := newMatcher([]*addedToken{token})
	if err != nil {
		t.Fatal(err)
	}
	p := &pass{}
	p.load("a <m>  <m><m> \u00a0 b <m>")
	m.apply(p)
	var got []string
	for _, pc := range p.pieces {
		got = append(got, string(p.text[pc.lo:pc.hi]))
	}
	if want := []string{"a", " <m>  ", "<m>", "<m> \u00a0 ", "b", " <m>"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// BenchmarkHostile tokenizes texts that are the worst case of some stage, at a size n and at 4n. The time per byte must
// not grow.
func BenchmarkHostile(b *testing.B) {
	units := map[string]string{
		"letters": "a", "digits": "1", "brackets": "[", "apostrophes": "'", "punctuation": "!?",
		"spaces": " ", "tabs": "\t", "newlines": "\n", "spaces and newlines": " \n ",
		"special": "<s>", "special with spaces": " <mask> ", "half special": "<|",
		"CJK": "狐", "Hangul": "\u1100\u1161\u11a8", "emoji": "👩\u200d", "flags": "🇩",
		"marks": "\u0301\u0323", "long decompositions": "\ufdfa", "unknown": "\U000e0041", "invalid": "\xff",
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
					for b.Loop() {
						if _, err := tok.Encode(text, Options{}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
