package tokenizers

import (
	"strings"
	"unicode/utf8"
)

// The byte-level alphabet maps every byte to a printable character, so that a vocabulary of bytes can be written as
// text (Radford et al. 2019, GPT-2, bytes_to_unicode): printable Latin-1 to itself, other bytes to U+0100 and up.
var byteAlphabet, byteOf = func() (to [256]rune, from map[rune]byte) {
	from = map[rune]byte{}
	next := rune(256)
	for c := range to {
		switch {
		case c >= '!' && c <= '~', c >= 0xA1 && c <= 0xAC, c >= 0xAE:
			to[c] = rune(c)
		default:
			to[c] = next
			next++
		}
		from[to[c]] = byte(c)
	}
	return to, from
}()

// fromByteLevel returns the bytes of a token. ok is false if a character is not in the alphabet.
func fromByteLevel(token string) (raw string, ok bool) {
	b := make([]byte, 0, len(token))
	for _, r := range token {
		c, ok := byteOf[r]
		if !ok {
			return token, false
		}
		b = append(b, c)
	}
	return string(b), true
}

// byteLevelSplit splits into words by the GPT-2 pattern. It does not rewrite the text in the byte-level alphabet;
// instead, the model's vocabulary is decoded to bytes.
type byteLevelSplit struct {
	head
	Prefix bool `json:"add_prefix_space"` // add a space before every piece without one
	Trim   bool `json:"trim_offsets"`     // for the post-processor
	Regex  bool `json:"use_regex,omitempty"`
}

func (s *byteLevelSplit) apply(p *pass) {
	if s.Prefix {
		p.rewrite(func(lo, hi int32) {
			if p.text.b[lo] != ' ' {
				p.out.appendByte(' ', p.text.from[lo])
			}
			p.out.appendText(&p.text, lo, hi)
		})
	}
	if s.Regex {
		wordPattern(gpt2Word).apply(p)
	}
}

// byteLevelDecoder decodes tokens from the byte-level alphabet, or copies them if they are not in it. Invalid UTF-8 in
// the result becomes U+FFFD.
type byteLevelDecoder struct{}

func (byteLevelDecoder) decode(tokens []string) []string {
	var all strings.Builder
	for _, t := range tokens {
		raw, _ := fromByteLevel(t)
		all.WriteString(raw)
	}
	return []string{lossy(all.String())}
}

// lossy replaces each maximal prefix of an ill-formed character with one U+FFFD (Unicode Standard, section 3.9).
func lossy(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			n = illFormedLength(s)
		}
		out.WriteRune(r)
		s = s[n:]
	}
	return out.String()
}

// illFormedLength returns the length of the longest prefix of s that more bytes could complete to a character, at
// least 1.
func illFormedLength(s string) int {
	for n := min(3, len(s)); n > 1; n-- {
		for _, missing := range []string{"\x80", "\x80\x80"} {
			if _, size := utf8.DecodeRuneInString(s[:n] + missing); size == n+len(missing) {
				return n
			}
		}
	}
	return 1
}
