package tokenizers

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// slot is a place in the finished encoding: a whole text, or one added token.
type slot struct {
	source int8 // 0 or 1 for a text, added for a token
	id     int32
	typeID int32
}

const added = -1

// template is what a post-processor does: where the texts go, and which tokens stand around them.
type template struct {
	single, pair []slot
	trim         bool // offsets leave out the white space at a token's ends
	prefixed     bool // but keep the space before the first word, which the pre-tokeniser put there
}

// plain puts one text after the other and adds nothing.
func plain() template {
	return template{single: []slot{{source: 0}}, pair: []slot{{source: 0}, {source: 1, typeID: 1}}}
}

func addedTokens(slots []slot) int {
	n := 0
	for _, s := range slots {
		if s.source == added {
			n++
		}
	}
	return n
}

// clear empties the encoding and makes room for n tokens.
func (e *Encoding) clear(n int) {
	e.IDs = slices.Grow(e.IDs[:0], n)
	e.TypeIDs = slices.Grow(e.TypeIDs[:0], n)
	e.Offsets = slices.Grow(e.Offsets[:0], n)
	e.Source = slices.Grow(e.Source[:0], n)
}

func (e *Encoding) push(id, typeID int32, from Span, source int8) {
	e.IDs = append(e.IDs, id)
	e.TypeIDs = append(e.TypeIDs, typeID)
	e.Offsets = append(e.Offsets, from)
	e.Source = append(e.Source, source)
}

func (e *Encoding) text(s slot, of sequence) {
	e.IDs = append(e.IDs, of.ids...)
	e.Offsets = append(e.Offsets, of.spans...)
	for range of.ids {
		e.TypeIDs = append(e.TypeIDs, s.typeID)
		e.Source = append(e.Source, s.source)
	}
}

// trim takes the white space off both ends of the tokens' spans, as far as the tokens say they have any. A single space
// that begins the first token stays if the pre-tokeniser may have put it there. Spans shrink by characters of the
// input.
func (t *Tokenizer) trim(s *sequence) {
	for i, id := range s.ids {
		o := &s.spans[i]
		before, after := t.edges(id, s.input[o.Start:o.End])
		if (i == 0 || o.Start == 0) && t.template.prefixed && before == 1 {
			before = 0
		}
		end := o.End
		for ; before > 0 && o.Start < end; before-- {
			_, n := utf8.DecodeRuneInString(s.input[o.Start:])
			o.Start += int32(n)
		}
		for ; after > 0 && o.End > o.Start; after-- {
			_, n := utf8.DecodeLastRuneInString(s.input[:o.End])
			o.End -= int32(n)
		}
	}
}

// edge is how much white space a token has at its ends, in characters.
type edge struct{ before, after uint8 }

// edges looks a token of the model up; an added token is what it took out of the text.
func (t *Tokenizer) edges(id int32, taken string) (before, after uint8) {
	e := edge{}
	if t.added[id] != nil {
		e = edgeOf(taken)
	} else if int(id) < len(t.edgesOf) {
		e = t.edgesOf[id]
	}
	return e.before, e.after
}

func edgeOf(token string) edge {
	u := codepoints()
	white := func(r rune) bool { return r == byteAlphabet[' '] || u.is(r, isWhitespace) }
	count := func(cut string) uint8 {
		return uint8(min(255, utf8.RuneCountInString(token)-utf8.RuneCountInString(cut)))
	}
	return edge{count(strings.TrimLeftFunc(token, white)), count(strings.TrimRightFunc(token, white))}
}

// edgesOf makes the table of a model's tokens, by id.
func edgesOf(m model) []edge {
	var table []edge
	for id, left := int32(0), m.size(); left > 0 && id <= maxID; id++ {
		e := edge{}
		if token, ok := m.token(id); ok {
			e = edgeOf(token)
			left--
		}
		table = append(table, e)
	}
	return table
}
