package tokenizers

import "slices"

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

// trim takes the white space off both ends of the tokens' spans. With prefixed, a token at the very beginning keeps a
// single leading space.
func (s *sequence) trim(input string, prefixed bool) {}
