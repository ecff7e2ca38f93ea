package tokenizers

import (
	"cmp"
	"slices"
	"unicode/utf8"
)

// char is a character of a text, and the input bytes that it stands for.
type char struct {
	r    rune
	from Span
}

// change is a character of a rewritten text. delta counts as the reference does: 0 if it replaces one old character, 1
// if it is added, -n if it replaces 1+n old characters.
type change struct {
	r     rune
	delta int32
	class uint8
}

// Hangul syllables are decomposed arithmetically: Unicode Standard, section 3.12.
const (
	hangulFirst, hangulLast         = 0xAC00, 0xD7A3
	jamoL, jamoV, jamoT             = 0x1100, 0x1161, 0x11A7
	jamoLCount, jamoVCount, jamoT28 = 19, 21, 28
)

// decodeChars decodes the text [lo, hi) into p.chars.
func (p *pass) decodeChars(lo, hi int32) []char {
	p.chars = p.chars[:0]
	for i := lo; i < hi; {
		r, n := utf8.DecodeRune(p.text.b[i:hi])
		p.chars = append(p.chars, char{r, p.text.from[i]})
		i += int32(n)
	}
	return p.chars
}

// appendChars appends characters to p.out.
func (p *pass) appendChars(cs []char) {
	for _, c := range cs {
		p.out.appendRune(c.r, c.from)
	}
}

// normalForm writes a Unicode normalization form (UAX #15) of characters to p.more.
func (p *pass) normalForm(cs []char, compatible, composed bool) []char {
	u := codepoints()
	p.changes = u.decomposeAll(p.changes[:0], cs, compatible)
	if composed {
		p.changes = u.composeAll(p.changes)
	}
	p.more = applyChanges(p.more[:0], cs, p.changes)
	return p.more
}

// applyChanges gives each new character the input bytes of the old one that it replaces. After reordering, as in the
// reference, that is the old character at the same position, not the one that it comes from.
func applyChanges(dst []char, old []char, changes []change) []char {
	k := 0
	for _, c := range changes {
		at := k
		if c.delta > 0 {
			at = k - 1
		} else {
			k += 1 - int(c.delta)
		}
		var from Span
		if at >= 0 && at < len(old) {
			from = old[at].from
		}
		dst = append(dst, char{c.r, from})
	}
	return dst
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
func (u *unicodeData) decomposeAll(dst []change, cs []char, compatible bool) []change {
	var buffer [18]rune // the longest decomposition, U+FDFA's
	pending := len(dst)
	for _, c := range cs {
		for i, r := range u.decomposition(buffer[:0], c.r, compatible) {
			next := change{r: r, delta: int32(min(i, 1))}
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

// sortMarks sorts combining marks into canonical order. It must not be quadratic: a text may have a million
// in a row.
func sortMarks(marks []change) {
	if len(marks) > 1 {
		slices.SortStableFunc(marks, func(a, b change) int { return cmp.Compare(a.class, b.class) })
	}
}

// composeAll composes characters with no mark of the same or a higher class between them.
func (u *unicodeData) composeAll(cs []change) []change {
	out := cs[:0]
	base := -1 // index in out of the last base character
	last := -1 // canonical class of the last character after it that was not composed
	for _, c := range cs {
		class := int(c.class)
		if base >= 0 && last < class {
			if r, ok := u.pair(out[base].r, c.r); ok {
				out[base].r = r
				out[base].delta += c.delta - 1
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
