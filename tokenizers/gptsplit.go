package tokenizers

import "unicode/utf8"

// The regular expressions that byte-level tokenizers split with need look-ahead, which Go's do not have, so each is
// written out by hand: a function gives the length of the first match. All of them match every text to its end.
const (
	gpt2Pattern   = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
	qwen2Pattern  = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
	cl100kPattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
)

// gptPatterns are the patterns of GPT-2 and RoBERTa, Qwen2, and of GPT-4's cl100k and Llama 3.
var gptPatterns = map[string]func(*unicodeData, []byte) int{
	gpt2Pattern:   gpt2Word,
	qwen2Pattern:  func(u *unicodeData, b []byte) int { return cl100kWord(u, b, 1) },
	cl100kPattern: func(u *unicodeData, b []byte) int { return cl100kWord(u, b, 3) },
}

// wordPattern cuts a piece into the matches.
type wordPattern func(u *unicodeData, b []byte) int

func (next wordPattern) apply(p *pass) {
	u := codepoints()
	p.split(func(lo, hi int32) {
		for lo < hi {
			end := lo + int32(next(u, p.text.b[lo:hi]))
			p.cut(lo, end)
			lo = end
		}
	})
}

// class is what the patterns tell characters apart by.
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

// at gives the class and length of the first character; the length is 0 at the end.
func at(u *unicodeData, b []byte) (class, int) {
	if len(b) == 0 {
		return space, 0
	}
	if b[0] < utf8.RuneSelf {
		return u.ascii[b[0]], 1
	}
	r, n := utf8.DecodeRune(b)
	return classOf(u.of(r)), n
}

// run is the length of the characters of a class at the start of b, at most limit of them.
func run(u *unicodeData, b []byte, c class, limit int) int {
	i := 0
	for ; limit > 0; limit-- {
		now, n := at(u, b[i:])
		if n == 0 || now != c {
			break
		}
		i += n
	}
	return i
}

const noLimit = int(^uint(0) >> 1)

func gpt2Word(u *unicodeData, b []byte) int {
	if n := contraction(b, false); n > 0 {
		return n
	}
	skip := 0
	if b[0] == ' ' {
		skip = 1
	}
	if c, n := at(u, b[skip:]); n > 0 && c != space {
		return skip + run(u, b[skip:], c, noLimit)
	}
	return spaces(u, b)
}

// spaces matches \s+(?!\S)|\s+ : a run of white space, less its last character where a word follows.
func spaces(u *unicodeData, b []byte) int {
	n := run(u, b, space, noLimit)
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
	c, first := at(u, b)
	if c == letter {
		return run(u, b, letter, noLimit)
	}
	if c == number {
		return run(u, b, number, digits)
	}
	if b[0] != '\r' && b[0] != '\n' {
		if n := run(u, b[first:], letter, noLimit); n > 0 {
			return first + n
		}
	}
	skip := 0
	if b[0] == ' ' {
		skip = 1
	}
	if n := run(u, b[skip:], other, noLimit); n > 0 {
		return skip + n + lineEnds(b[skip+n:])
	}
	n := run(u, b, space, noLimit)
	for i := n; i > 0; i-- {
		if b[i-1] == '\r' || b[i-1] == '\n' {
			return i
		}
	}
	return spaces(u, b)
}

func lineEnds(b []byte) int {
	n := 0
	for n < len(b) && (b[n] == '\r' || b[n] == '\n') {
		n++
	}
	return n
}

// contraction matches 's 't 're 've 'm 'll 'd, in any case if anyCase; ſ, the long s, is an s then.
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
