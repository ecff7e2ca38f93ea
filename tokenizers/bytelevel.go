package tokenizers

import (
	"strings"
	"unicode/utf8"
)

// The byte-level alphabet gives every byte a printable character, so that a vocabulary of arbitrary bytes can be
// written as text (Radford et al. 2019, GPT-2, bytes_to_unicode): printable Latin-1 stands for itself, the rest for
// U+0100 and up.
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

// fromByteLevel turns a token's text into the bytes it stands for; ok is false if the text leaves the alphabet.
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

// byteLevelSplit cuts into words by the GPT-2 pattern. The text itself stays as it is: instead of writing it in the
// byte-level alphabet, the model's vocabulary is read back from it.
type byteLevelSplit struct {
	head
	Prefix bool `json:"add_prefix_space"` // every piece begins with a space
	Trim   bool `json:"trim_offsets"`     // of use in the post-processor only
	Regex  bool `json:"use_regex,omitempty"`
}

func (s *byteLevelSplit) apply(p *pass) {
	if s.Prefix {
		p.rewrite(func(lo, hi int32) {
			if p.text.b[lo] != ' ' {
				p.out.byteAt(' ', p.text.from[lo])
			}
			p.out.copyOf(&p.text, lo, hi)
		})
	}
	if s.Regex {
		wordPattern(gpt2Word).apply(p)
	}
}

// byteLevelDecoder reads tokens back from the byte-level alphabet; a token outside it is taken as it is. What is not
// UTF-8 in the end becomes U+FFFD.
type byteLevelDecoder struct{}

func (byteLevelDecoder) decode(tokens []string) []string {
	var all strings.Builder
	for _, t := range tokens {
		raw, _ := fromByteLevel(t)
		all.WriteString(raw)
	}
	return []string{lossy(all.String())}
}

// lossy replaces each maximal beginning of an ill-formed character by one U+FFFD (Unicode Standard, section 3.9).
func lossy(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var out strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			n = illFormed(s)
		}
		out.WriteRune(r)
		s = s[n:]
	}
	return out.String()
}

// illFormed is how many bytes at the start of s could still have become a character, and at least 1.
func illFormed(s string) int {
	for n := min(3, len(s)); n > 1; n-- {
		for _, rest := range []string{"\x80", "\x80\x80"} {
			if _, size := utf8.DecodeRuneInString(s[:n] + rest); size == n+len(rest) {
				return n
			}
		}
	}
	return 1
}
