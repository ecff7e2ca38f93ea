package tokenizers

import "unicode/utf8"

// bertNormalizer cleans the text, puts spaces around ideographs, strips accents and lowercases, like BERT's tokenizer
// (https://github.com/google-research/bert, tokenization.py).
type bertNormalizer struct {
	head
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
	p.rewrite(func(lo, hi int32) {
		start := len(p.out.b)
		if !n.rewriteFast(p, lo, hi) {
			p.out.b = p.out.b[:start]
			p.out.from = p.out.from[:start]
			n.rewriteExact(p, lo, hi)
		}
	})
}

// rewriteFast rewrites character by character. It returns false at a mark that canonical ordering could move and that
// is not stripped. Such marks are rare.
func (n *bertNormalizer) rewriteFast(p *pass, lo, hi int32) bool {
	u := codepoints()
	for i := lo; i < hi; {
		c := p.text.b[i]
		if c < utf8.RuneSelf {
			if to := n.ascii[c]; to != dropped {
				p.out.appendByte(byte(to), p.text.from[i])
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(p.text.b[i:hi])
		if u.of(r)&n.affected == 0 {
			p.out.appendText(&p.text, i, i+int32(size))
		} else if !n.rewriteChar(p, u, char{r, p.text.from[i]}) {
			return false
		}
		i += int32(size)
	}
	return true
}

// rewriteChar rewrites one character. It returns false under the same condition as rewriteFast.
func (n *bertNormalizer) rewriteChar(p *pass, u *unicodeData, c char) bool {
	what := u.of(c.r)
	if n.Clean && what&(isControl|isWhitespace) != 0 {
		if what&isControl == 0 {
			p.out.appendByte(' ', c.from)
		}
		return true
	}
	apart := n.Ideographs && what&isIdeograph != 0
	if apart {
		p.out.appendByte(' ', c.from)
	}
	var room [4]rune
	parts := append(room[:0], c.r)
	if n.strip {
		parts = u.decomposition(room[:0], c.r, false)
	}
	for _, r := range parts {
		if n.strip && u.is(r, isMark) {
			continue
		}
		if n.strip && u.is(r, hasClass) {
			return false
		}
		n.lower(p, u, char{r, c.from})
	}
	if apart {
		p.out.appendByte(' ', c.from)
	}
	return true
}

func (n *bertNormalizer) lower(p *pass, u *unicodeData, c char) {
	if n.Lower {
		lowercase(u, &p.out, c)
	} else {
		p.out.appendRune(c.r, c.from)
	}
}

// rewriteExact applies each step to the whole piece, as the reference does.
func (n *bertNormalizer) rewriteExact(p *pass, lo, hi int32) {
	u := codepoints()
	cleaned := p.more[:0]
	for _, c := range p.decodeChars(lo, hi) {
		what := u.of(c.r)
		switch {
		case n.Clean && what&isControl != 0:
		case n.Clean && what&isWhitespace != 0:
			cleaned = append(cleaned, char{' ', c.from})
		case n.Ideographs && what&isIdeograph != 0:
			cleaned = append(cleaned, char{' ', c.from}, c, char{' ', c.from})
		default:
			cleaned = append(cleaned, c)
		}
	}
	p.chars, p.more = cleaned, p.chars
	for _, c := range p.normalForm(cleaned, false, false) {
		if !u.is(c.r, isMark) {
			n.lower(p, u, c)
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
			r := rune(p.text.b[i])
			size := 1
			if r >= utf8.RuneSelf {
				r, size = utf8.DecodeRune(p.text.b[i:hi])
			}
			end := i + int32(size)
			switch what := u.of(r); {
			case what&isWhitespace != 0:
				p.cut(word, i)
				word = end
			case what&isPunctuation != 0:
				p.cut(word, i)
				p.cut(i, end)
				word = end
			}
			i = end
		}
		p.cut(word, hi)
	})
}
