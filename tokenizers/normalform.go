package tokenizers

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// markedRune is a character and its canonical combining class: 0 for a base character, above 0 for a mark.
type markedRune struct {
	r     rune
	class uint8
}

// Hangul syllables are decomposed arithmetically: Unicode Standard, section 3.12.
const (
	hangulFirst, hangulLast         = 0xAC00, 0xD7A3
	jamoL, jamoV, jamoT             = 0x1100, 0x1161, 0x11A7
	jamoLCount, jamoVCount, jamoT28 = 19, 21, 28
)

// normalForm returns a Unicode normalization form (UAX #15) of a text, in p.marked.
func (p *pass) normalForm(text []byte, compatible, composed bool) []markedRune {
	u := codepoints()
	p.marked = u.decomposeAll(p.marked[:0], text, compatible)
	if composed {
		p.marked = u.composeAll(p.marked)
	}
	return p.marked
}

// decomposition appends the full decomposition of c.
func (u *unicodeData) decomposition(dst []rune, c rune, compatible bool) []rune {
	p := u.of(c)
	switch {
	case compatible && p&hasNFKD != 0:
		return append(dst, u.nfkd[c]...)
	case p&hasNFD == 0:
		return append(dst, c)
	case c >= hangulFirst && c <= hangulLast:
		s := c - hangulFirst
		dst = append(dst, jamoL+s/(jamoVCount*jamoT28), jamoV+s/jamoT28%jamoVCount)
		if t := s % jamoT28; t > 0 {
			dst = append(dst, jamoT+t)
		}
		return dst
	default:
		return append(dst, u.nfd[c]...)
	}
}

// decomposeAll decomposes all characters, and sorts the marks after each base character into canonical order.
func (u *unicodeData) decomposeAll(dst []markedRune, text []byte, compatible bool) []markedRune {
	var buffer [18]rune // the longest decomposition, U+FDFA's
	pending := len(dst)
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRune(text[i:])
		i += size
		for _, r := range u.decomposition(buffer[:0], c, compatible) {
			next := markedRune{r: r}
			if u.is(r, hasClass) {
				next.class = u.class[r]
			}
			if next.class == 0 {
				sortMarks(dst[pending:])
				pending = len(dst) + 1
			}
			dst = append(dst, next)
		}
	}
	sortMarks(dst[pending:])
	return dst
}

// sortMarks sorts marks into canonical order. It must not be quadratic: a text may have a million in a row.
func sortMarks(marks []markedRune) {
	if len(marks) > 1 {
		slices.SortStableFunc(marks, func(a, b markedRune) int { return cmp.Compare(a.class, b.class) })
	}
}

// composeAll composes characters with no mark of the same or a higher class between them.
func (u *unicodeData) composeAll(cs []markedRune) []markedRune {
	out := cs[:0]
	base := -1 // index in out of the last base character
	last := -1 // canonical class of the last character after it that was not composed
	for _, c := range cs {
		class := int(c.class)
		if base >= 0 && last < class {
			if r, ok := u.pair(out[base].r, c.r); ok {
				out[base].r = r
				continue
			}
		}
		switch {
		case class == 0:
			base = len(out)
			last = -1
		case base >= 0:
			last = class
		}
		out = append(out, c)
	}
	return out
}

// pair composes two characters.
func (u *unicodeData) pair(a, b rune) (rune, bool) {
	if l, v := a-jamoL, b-jamoV; l >= 0 && l < jamoLCount && v >= 0 && v < jamoVCount {
		return hangulFirst + (l*jamoVCount+v)*jamoT28, true
	}
	if s, t := a-hangulFirst, b-jamoT; a >= hangulFirst && a <= hangulLast && s%jamoT28 == 0 && t > 0 && t < jamoT28 {
		return a + t, true
	}
	c, ok := u.compose[[2]rune{a, b}]
	return c, ok
}
