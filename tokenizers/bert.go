package tokenizers

import "unicode/utf8"

// bertNormalizer cleans the text, puts spaces around ideographs, strips accents and lowercases, like BERT's tokenizer
// (https://github.com/google-research/bert, tokenization.py).
type bertNormalizer struct {
	component
	Clean      bool  `json:"clean_text"`
	Ideographs bool  `json:"handle_chinese_chars"`
	Accents    *bool `json:"strip_accents"` // null: as Lower
	Lower      bool  `json:"lowercase"`

	strip    bool
	ascii    [utf8.RuneSelf]int16 // replacement of an ASCII character, or dropped
	affected property             // characters without these properties do not change
}

const dropped = -1

func (n *bertNormalizer) prepare() {
	n.strip = n.Lower
	if n.Accents != nil {
		n.strip = *n.Accents
	}
	for c := range n.ascii {
		n.ascii[c] = n.asciiTo(byte(c))
	}
	if n.Clean {
		n.affected |= isControl | isWhitespace
	}
	if n.Ideographs {
		n.affected |= isIdeograph
	}
	if n.strip {
		n.affected |= isMark | hasNFD | hasClass
	}
	if n.Lower {
		n.affected |= hasLower
	}
}

func (n *bertNormalizer) asciiTo(c byte) int16 {
	switch {
	case n.Clean && codepoints().is(rune(c), isControl):
		return dropped
	case n.Clean && codepoints().is(rune(c), isWhitespace):
		return ' '
	case n.Lower && c >= 'A' && c <= 'Z':
		return int16(c + 'a' - 'A')
	}
	return int16(c)
}

func (n *bertNormalizer) apply(p *pass) {
	p.rewrite(func(piece []byte) {
		start := len(p.out)
		if !n.rewriteFast(p, piece) {
			p.out = p.out[:start]
			n.rewriteExact(p, piece)
		}
	})
}

// rewriteFast rewrites character by character. It returns false at a mark that canonical ordering could move and that
// is not stripped. Such marks are rare.
func (n *bertNormalizer) rewriteFast(p *pass, b []byte) bool {
	u := codepoints()
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case r < utf8.RuneSelf:
			if to := n.ascii[r]; to != dropped {
				p.out = append(p.out, byte(to))
			}
		case u.of(r)&n.affected == 0:
			p.out = append(p.out, b[:size]...)
		case !n.rewriteRune(p, u, r):
			return false
		}
		if len(p.out) == 0 {
			p.startDropped = true
		}
		b = b[size:]
	}
	return true
}

// rewriteRune rewrites one character. It returns false under the same condition as rewriteFast.
func (n *bertNormalizer) rewriteRune(p *pass, u *unicodeData, c rune) bool {
	properties := u.of(c)
	if n.Clean && properties&(isControl|isWhitespace) != 0 {
		if properties&isControl == 0 {
			p.out = append(p.out, ' ')
		}
		return true
	}
	spaced := n.Ideographs && properties&isIdeograph != 0
	if spaced {
		p.out = append(p.out, ' ')
	}
	var room [4]rune
	parts := append(room[:0], c)
	if n.strip {
		parts = u.decomposition(room[:0], c, false)
	}
	for _, r := range parts {
		if n.strip && u.is(r, isMark) {
			continue
		}
		if n.strip && u.is(r, hasClass) {
			return false
		}
		n.lower(p, u, r)
	}
	if spaced {
		p.out = append(p.out, ' ')
	}
	return true
}

func (n *bertNormalizer) lower(p *pass, u *unicodeData, r rune) {
	if n.Lower {
		p.out = lowercase(u, p.out, r)
	} else {
		p.out = utf8.AppendRune(p.out, r)
	}
}

// rewriteExact applies each step to the whole piece, as the reference does.
func (n *bertNormalizer) rewriteExact(p *pass, b []byte) {
	u := codepoints()
	var cleaned []byte
	for _, r := range string(b) {
		properties := u.of(r)
		switch {
		case n.Clean && properties&isControl != 0:
		case n.Clean && properties&isWhitespace != 0:
			cleaned = append(cleaned, ' ')
		case n.Ideographs && properties&isIdeograph != 0:
			cleaned = append(cleaned, ' ')
			cleaned = utf8.AppendRune(cleaned, r)
			cleaned = append(cleaned, ' ')
		default:
			cleaned = utf8.AppendRune(cleaned, r)
		}
	}
	for _, c := range p.normalForm(cleaned, false, false) {
		if !u.is(c.r, isMark) {
			n.lower(p, u, c.r)
		}
	}
}

// bertSplit splits at white space, which it drops, and around every punctuation character.
type bertSplit struct{}

func (bertSplit) apply(p *pass) {
	u := codepoints()
	p.split(func(lo, hi int32) {
		word := lo
		for i := lo; i < hi; {
			r := rune(p.text[i])
			size := 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRune(p.text[i:hi])
			}
			end := i + int32(size)
			switch properties := u.of(r); {
			case properties&isWhitespace != 0:
				p.cut(word, i)
				word = end
			case properties&isPunctuation != 0:
				p.cut(word, i)
				p.cut(i, end)
				word = end
			}
			i = end
		}
		p.cut(word, hi)
	})
}
