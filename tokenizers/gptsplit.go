package tokenizers

import (
	"bytes"
	"math"
	"unicode/utf8"
)

// The regular expressions that byte-level tokenizers split with. They need look-ahead, which package regexp lacks, so a
// function implements each: it returns the length of the match at the start of a text. The matches cover every text.
const (
	cl100kStart = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|`
	cl100kEnd   = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

	gpt2Pattern   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	qwen2Pattern  = cl100kStart + `\p{N}` + cl100kEnd
	cl100kPattern = cl100kStart + `\p{N}{1,3}` + cl100kEnd
	tekkenPattern = tekkenPrefix + tekkenUpper + `*` + tekkenLower + `+|` +
		tekkenPrefix + tekkenUpper + `+` + tekkenLower + `*|` +
		`\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`

	tekkenPrefix = `[^\r\n\p{L}\p{N}]?`
	tekkenUpper  = `[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]`
	tekkenLower  = `[\p{Ll}\p{Lm}\p{Lo}\p{M}]`
)

// gptPatterns implement the patterns of GPT-2 and RoBERTa, of Qwen2, of GPT-4 (cl100k) and Llama 3, and of Mistral's
// Tekken.
var gptPatterns = map[string]wordPattern{
	gpt2Pattern:   gpt2Word,
	qwen2Pattern:  func(u *unicodeData, b []byte) int { return cl100kWord(u, b, 1) },
	cl100kPattern: func(u *unicodeData, b []byte) int { return cl100kWord(u, b, 3) },
	tekkenPattern: tekkenWord,
}

// wordPattern returns the length of the match at the start of b. As a stage, it splits a piece into matches.
type wordPattern func(u *unicodeData, b []byte) int

func (match wordPattern) apply(p *pass) {
	u := codepoints()
	p.split(func(lo, hi int32) {
		for lo < hi {
			end := lo + int32(match(u, p.text[lo:hi]))
			p.cut(lo, end)
			lo = end
		}
	})
}

// class is a class of characters that the patterns distinguish.
type class uint8

const (
	other class = iota
	letter
	number
	space
)

func classOf(p property) class {
	switch {
	case p&isLetter != 0:
		return letter
	case p&isNumber != 0:
		return number
	case p&isWhitespace != 0:
		return space
	}
	return other
}

// firstClass returns the class and length of the first character, or length 0 at the end.
func firstClass(u *unicodeData, b []byte) (class, int) {
	if len(b) == 0 {
		return space, 0
	}
	if b[0] < utf8.RuneSelf {
		return u.ascii[b[0]], 1
	}
	r, n := utf8.DecodeRune(b)
	return classOf(u.of(r)), n
}

// prefixLength returns the length of the longest prefix of b with at most limit characters, all of class c.
func prefixLength(u *unicodeData, b []byte, c class, limit int) int {
	i := 0
	for ; limit > 0; limit-- {
		current, n := firstClass(u, b[i:])
		if n == 0 || current != c {
			break
		}
		i += n
	}
	return i
}

const noLimit = math.MaxInt

func gpt2Word(u *unicodeData, b []byte) int {
	if n := contraction(b, false); n > 0 {
		return n
	}
	skip := 0
	if b[0] == ' ' {
		skip = 1
	}
	if c, n := firstClass(u, b[skip:]); n > 0 && c != space {
		return skip + prefixLength(u, b[skip:], c, noLimit)
	}
	return spaces(u, b)
}

// spaces matches \s+(?!\S)|\s+ : a run of white space, without its last character before a word.
func spaces(u *unicodeData, b []byte) int {
	n := prefixLength(u, b, space, noLimit)
	if n < len(b) {
		if _, last := utf8.DecodeLastRune(b[:n]); last < n {
			return n - last
		}
	}
	return n
}

func cl100kWord(u *unicodeData, b []byte, digits int) int {
	if n := contraction(b, true); n > 0 {
		return n
	}
	c, first := firstClass(u, b)
	if c == letter {
		return prefixLength(u, b, letter, noLimit)
	}
	if c == number {
		return prefixLength(u, b, number, digits)
	}
	if b[0] != '\r' && b[0] != '\n' {
		if n := prefixLength(u, b[first:], letter, noLimit); n > 0 {
			return first + n
		}
	}
	skip := 0
	if b[0] == ' ' {
		skip = 1
	}
	if n := prefixLength(u, b[skip:], other, noLimit); n > 0 {
		return skip + n + anyOf(b[skip+n:], "\r\n")
	}
	return lines(u, b)
}

// lines matches \s*[\r\n]+|\s+(?!\S)|\s+ : white space up to its last line end, if it has one, else as spaces.
func lines(u *unicodeData, b []byte) int {
	n := prefixLength(u, b, space, noLimit)
	for i := n; i > 0; i-- {
		if b[i-1] == '\r' || b[i-1] == '\n' {
			return i
		}
	}
	return spaces(u, b)
}

// anyOf returns the length of the longest prefix of b with only the given ASCII characters.
func anyOf(b []byte, chars string) int { return len(b) - len(bytes.TrimLeft(b, chars)) }

func tekkenWord(u *unicodeData, b []byte) int {
	c, first := firstClass(u, b)
	if c == number {
		return first
	}
	before := first // length of the optional character before a word
	if c == letter || b[0] == '\r' || b[0] == '\n' {
		before = 0
	}
	for _, word := range []wordPattern{upperThenLower, upperMaybeLower} {
		if n := word(u, b[before:]); n > 0 {
			return before + n
		}
		if n := word(u, b); n > 0 { // the character is a mark, so it can be in the word instead
			return n
		}
	}
	skip := 0
	if b[0] == ' ' {
		skip = 1
	}
	if n := prefixLength(u, b[skip:], other, noLimit); n > 0 {
		return skip + n + anyOf(b[skip+n:], "\r\n/")
	}
	return lines(u, b)
}

// run returns the length of the longest prefix of b with a property.
func run(u *unicodeData, b []byte, p property) int {
	n := 0
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if !u.is(r, p) {
			break
		}
		n += size
	}
	return n
}

// upperThenLower matches [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+, or returns 0. Both classes have
// letters without case: without lower case behind them, the match ends at the last one.
func upperThenLower(u *unicodeData, b []byte) int {
	upper := run(u, b, isUpper)
	if lower := run(u, b[upper:], isLower); lower > 0 {
		return upper + lower
	}
	for upper > 0 {
		r, size := utf8.DecodeLastRune(b[:upper])
		if u.is(r, isLower) {
			break
		}
		upper -= size
	}
	return upper
}

// upperMaybeLower matches [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*, or returns 0.
func upperMaybeLower(u *unicodeData, b []byte) int {
	upper := run(u, b, isUpper)
	if upper == 0 {
		return 0
	}
	return upper + run(u, b[upper:], isLower)
}

// contraction matches 's 't 're 've 'm 'll 'd. With anyCase it ignores case, and ſ, the long s, is an s.
func contraction(b []byte, anyCase bool) int {
	if len(b) < 2 || b[0] != '\'' {
		return 0
	}
	fold := func(c byte) byte {
		if anyCase && c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}
	switch fold(b[1]) {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(b) > 2 && fold(b[2]) == 'e' {
			return 3
		}
	case 'l':
		if len(b) > 2 && fold(b[2]) == 'l' {
			return 3
		}
	case "ſ"[0]:
		if anyCase && len(b) > 2 && b[2] == "ſ"[1] {
			return 3
		}
	}
	return 0
}
