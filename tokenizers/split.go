package tokenizers

import (
	"bytes"
	"unicode/utf8"
)

// part is a delimiter in a piece, or the text between two.
type part struct {
	lo, hi    int32
	delimiter bool
}

// cutParts splits a piece that consists of parts at its delimiters.
func (p *pass) cutParts(parts []part, how behavior) {
	for i := 0; i < len(parts); {
		end := i + 1
		switch {
		case how == removed && parts[i].delimiter:
			i = end
			continue
		case how == contiguous && parts[i].delimiter:
			for end < len(parts) && parts[end].delimiter {
				end++
			}
		case how == mergedWithPrevious && !parts[i].delimiter && end < len(parts):
			end++
		case how == mergedWithNext && parts[i].delimiter && end < len(parts) && !parts[end].delimiter:
			end++
		}
		p.cut(parts[i].lo, parts[end-1].hi)
		i = end
	}
}

// propertySplit splits at characters with a property.
type propertySplit struct {
	property property
	behavior behavior
}

func (s *propertySplit) apply(p *pass) {
	u := codepoints()
	p.split(func(lo, hi int32) {
		p.parts = p.parts[:0]
		start := lo
		for i := lo; i < hi; {
			r, n := utf8.DecodeRune(p.text[i:hi])
			end := i + int32(n)
			if u.is(r, s.property) {
				p.appendBetween(start, i)
				p.parts = append(p.parts, part{i, end, true})
				start = end
			}
			i = end
		}
		p.appendBetween(start, hi)
		p.cutParts(p.parts, s.behavior)
	})
}

func (p *pass) appendBetween(lo, hi int32) {
	if lo < hi {
		p.parts = append(p.parts, part{lo: lo, hi: hi})
	}
}

// textSplit splits at the occurrences of a text. With invert the text between them is the delimiter.
type textSplit struct {
	text   string
	how    behavior
	invert bool
}

func (s *textSplit) apply(p *pass) {
	delimiter := []byte(s.text)
	p.split(func(lo, hi int32) {
		p.parts = p.parts[:0]
		for at := lo; at < hi; {
			n := bytes.Index(p.text[at:hi], delimiter)
			if n < 0 {
				p.appendBetween(at, hi)
				break
			}
			p.appendBetween(at, at+int32(n))
			at += int32(n)
			p.parts = append(p.parts, part{at, at + int32(len(delimiter)), true})
			at += int32(len(delimiter))
		}
		for i := range p.parts {
			p.parts[i].delimiter = p.parts[i].delimiter != s.invert
		}
		p.cutParts(p.parts, s.how)
	})
}

// wordSplit keeps runs of word characters and runs of other characters that are not white space: \w+|[^\w\s]+.
type wordSplit struct{}

func (wordSplit) apply(p *pass) {
	u := codepoints()
	p.split(func(lo, hi int32) {
		start := lo
		last := property(isWhitespace)
		for i := lo; i < hi; {
			r, n := utf8.DecodeRune(p.text[i:hi])
			current := u.of(r) & (isWord | isWhitespace)
			if current&isWord != 0 {
				current = isWord
			}
			if current != last {
				if last != isWhitespace {
					p.cut(start, i)
				}
				start = i
				last = current
			}
			i += int32(n)
		}
		if last != isWhitespace {
			p.cut(start, hi)
		}
	})
}

// metaspace replaces spaces with a visible character, the replacement.
type metaspace struct {
	replacement string
	always      bool // add a replacement before every piece without one
	first       bool // add a replacement before a piece at the start of the input
	words       bool // start a piece at each replacement
}

func (m *metaspace) apply(p *pass) {
	p.rewrite(func(piece []byte) {
		has := piece[0] == ' ' || bytes.HasPrefix(piece, []byte(m.replacement))
		if !has && (m.always || m.first && p.atStart()) {
			p.out = append(p.out, m.replacement...)
		}
		for _, c := range piece {
			if c == ' ' {
				p.out = append(p.out, m.replacement...)
			} else {
				p.out = append(p.out, c)
			}
		}
	})
	if !m.words {
		return
	}
	p.split(func(lo, hi int32) {
		start := lo
		for i := lo + 1; i < hi; i++ {
			if p.text[i] == m.replacement[0] && bytes.HasPrefix(p.text[i:hi], []byte(m.replacement)) {
				p.cut(start, i)
				start = i
			}
		}
		p.cut(start, hi)
	})
}
