package tokenizers

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// property is a set of properties of a code point, as the reference library sees them.
type property uint16

const (
	isControl     property = 1 << iota // removed by clean_text of the BERT normalizer
	isWhitespace                       // Unicode White_Space
	isMark                             // non-spacing mark, removed with the accents
	isPunctuation                      // a separate word for the BERT pre-tokenizer
	isLetter                           // \p{L} of the splitting patterns
	isNumber                           // \p{N}
	isWord                             // \w of splitting patterns and of single_word
	isCombining                        // any mark, removed by the accent stripper
	isDigit                            // a number for the digit splitter
	isIdeograph                        // CJK ideograph, surrounded with spaces
	hasClass                           // canonical combining class above 0
	hasNFD                             // canonical decomposition
	hasNFKD                            // compatibility decomposition other than the canonical one
	hasLower                           // lowercase differs
	isUpper                            // upper or title case, modifier, letter without case, or mark
	isLower                            // lower case, modifier, letter without case, or mark
)

// unicodeTable has the properties of all code points; scripts/golden/tokenizers_unicode.py reads them from the
// reference library.
//
//go:embed unicode.txt
var unicodeTable string

// unicodeData is the parsed table. Properties are in pages of 256 code points; most code points share the empty page.
type unicodeData struct {
	page    [0x110000 >> 8]uint16
	pages   [][256]property
	class   map[rune]uint8
	nfd     map[rune][]rune // full canonical decomposition, without Hangul
	nfkd    map[rune][]rune // full compatibility decomposition where it differs
	lower   map[rune][]rune
	compose map[[2]rune]rune
	ascii   [utf8.RuneSelf]class
}

// codepoints parses the embedded table once. It panics if the table is invalid, which would be a bug.
var codepoints = sync.OnceValue(func() *unicodeData {
	u := &unicodeData{
		pages: make([][256]property, 1), class: map[rune]uint8{}, nfd: map[rune][]rune{}, nfkd: map[rune][]rune{},
		lower: map[rune][]rune{}, compose: map[[2]rune]rune{},
	}
	for line := range strings.Lines(unicodeTable) {
		if words := strings.Fields(line); len(words) > 1 && words[0] != "#" {
			u.read(words[0], words[1:])
		}
	}
	u.add(hangulFirst, hangulLast, hasNFD)
	for _, r := range ideographs {
		u.add(r[0], r[1], isIdeograph)
	}
	for c := range u.ascii {
		u.ascii[c] = classOf(u.of(rune(c)))
	}
	return u
})

// ideographs are the blocks that BERT calls Chinese. As in the reference, the sixth starts at U+2B920, 256 code points
// late.
var ideographs = [][2]rune{{0x4E00, 0x9FFF}, {0x3400, 0x4DBF}, {0x20000, 0x2A6DF}, {0x2A700, 0x2B73F},
	{0x2B740, 0x2B81F}, {0x2B920, 0x2CEAF}, {0xF900, 0xFAFF}, {0x2F800, 0x2FA1F}}

var rangeProperties = map[string]property{"control": isControl, "whitespace": isWhitespace, "space": isWhitespace,
	"mark": isMark, "punctuation": isPunctuation, "letter": isLetter, "number": isNumber, "word": isWord,
	"combining": isCombining, "digit": isDigit, "uppercase": isUpper, "lowercase": isLower}

func (u *unicodeData) read(name string, words []string) {
	switch name {
	case "nfd":
		u.readMap(words, u.nfd, hasNFD)
	case "nfkd":
		u.readMap(words, u.nfkd, hasNFKD)
	case "lower":
		u.readMap(words, u.lower, hasLower)
	case "compose":
		pairs := map[rune][]rune{}
		u.readMap(words, pairs, 0)
		for c, p := range pairs {
			u.compose[[2]rune{p[0], p[1]}] = c
		}
	case "class":
		k, err := strconv.ParseUint(words[0], 10, 8)
		if err != nil {
			panic(err)
		}
		for _, w := range words[1:] {
			lo, hi := parseRange(w)
			u.add(lo, hi, hasClass)
			for c := lo; c <= hi; c++ {
				u.class[c] = uint8(k)
			}
		}
	default:
		for _, w := range words {
			lo, hi := parseRange(w)
			u.add(lo, hi, rangeProperties[name])
		}
	}
}

func (u *unicodeData) readMap(words []string, into map[rune][]rune, p property) {
	for _, w := range words {
		from, to, _ := strings.Cut(w, "=")
		c := parsePoint(from)
		for part := range strings.SplitSeq(to, "+") {
			into[c] = append(into[c], parsePoint(part))
		}
		u.add(c, c, p)
	}
}

func parsePoint(hex string) rune {
	c, err := strconv.ParseUint(hex, 16, 21)
	if err != nil {
		panic(err)
	}
	return rune(c)
}

func parseRange(w string) (lo, hi rune) {
	from, to, two := strings.Cut(w, "-")
	if !two {
		to = from
	}
	return parsePoint(from), parsePoint(to)
}

func (u *unicodeData) add(lo, hi rune, p property) {
	for c := lo; c <= hi; c++ {
		if u.page[c>>8] == 0 {
			u.page[c>>8] = uint16(len(u.pages))
			u.pages = append(u.pages, [256]property{})
		}
		u.pages[u.page[c>>8]][c&255] |= p
	}
}

// of returns the properties of a code point.
func (u *unicodeData) of(c rune) property { return u.pages[u.page[c>>8]][c&255] }

func (u *unicodeData) is(c rune, p property) bool { return u.of(c)&p != 0 }
