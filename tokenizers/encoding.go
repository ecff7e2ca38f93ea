package tokenizers

import (
	"fmt"
	"slices"
)

// Encoding is a text, or a pair of texts, as the model wants it. All slices have the same length.
type Encoding struct {
	IDs     []int32 // token ids
	TypeIDs []int32 // segment ids: 0 for the first text, and what the post-processor gives the second
	Offsets []Span  // the bytes of its text that a token stands for; zero for tokens that stand for none
	Source  []int8  // which text Offsets refers to: 0 or 1, and -1 for a token the post-processor added

	// Length is how many tokens there would be without truncation, added ones included.
	Length int
}

// Direction is the end of a text that truncation cuts off.
type Direction uint8

const (
	Right Direction = iota // keep the beginning
	Left                   // keep the end
)

// Strategy says what happens to an input that is longer than [Options.MaxLength].
type Strategy uint8

const (
	Refuse       Strategy = iota // a [*LengthError]
	LongestFirst                 // shorten the longer text, then both
	OnlyFirst                    // shorten the first text; a [*LengthError] if nothing of it would be left
	OnlySecond                   // shorten the second text; a [*LengthError] if nothing of it would be left
)

// Options are what one call may choose. The zero value encodes everything and adds the model's special tokens.
type Options struct {
	MaxLength int // most tokens, added ones included; 0 for no limit
	Strategy  Strategy
	Direction Direction
	Bare      bool // leave out the tokens the post-processor adds
}

// LengthError reports an input of more tokens than allowed.
type LengthError struct {
	Length int // tokens the input has, added ones included
	Max    int // tokens allowed
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("input of %d tokens exceeds the maximum of %d", e.Length, e.Max)
}

// truncate shortens two sequences, the second of which may be empty, to room tokens together; whole is the length of
// all.
func (o Options) truncate(first, second *sequence, room, whole int) error {
	a := len(first.ids)
	b := len(second.ids)
	over := a + b - room
	if over <= 0 {
		return nil
	}
	failed := &LengthError{Length: whole, Max: o.MaxLength}
	switch {
	case o.Strategy == Refuse || room < 0:
		return failed
	case o.Strategy == LongestFirst:
		a, b = longestFirst(a, b, room)
	case o.Strategy == OnlyFirst && a > over:
		a -= over
	case o.Strategy == OnlySecond && b > over:
		b -= over
	default:
		return failed
	}
	first.keep(a, o.Direction)
	second.keep(b, o.Direction)
	return nil
}

// longestFirst divides room between two sequences: the shorter one stays whole while the longer can give enough, else
// each gets half, the odd token going to the longer (to the second when they are equal).
func longestFirst(a, b, room int) (int, int) {
	short := min(a, b)
	long := short
	if short <= room {
		long = max(short, room-short)
	}
	if short+long > room {
		short = room / 2
		long = short + room%2
	}
	if a > b {
		return long, short
	}
	return short, long
}

// keep leaves n tokens.
func (s *sequence) keep(n int, d Direction) {
	if n >= len(s.ids) {
		return
	}
	if d == Left {
		s.ids = s.ids[len(s.ids)-n:]
		s.spans = s.spans[len(s.spans)-n:]
		return
	}
	s.ids, s.spans = s.ids[:n], s.spans[:n]
}

// Batch is encodings side by side, padded to the longest: the three int64 tensors [Rows, Length] of a BERT-like model,
// row after row. The buffers are used again by the next Fill.
type Batch struct {
	Rows, Length  int
	InputIDs      []int64 // token ids, then padding
	AttentionMask []int64 // 1 for tokens, 0 for padding
	TokenTypeIDs  []int64 // segment ids, 0 for padding
}

// Fill replaces the batch. An empty list of encodings, or one of empty encodings, gives tensors of no elements.
func (b *Batch) Fill(encodings []*Encoding, pad int32) {
	b.Rows = len(encodings)
	b.Length = 0
	for _, e := range encodings {
		b.Length = max(b.Length, len(e.IDs))
	}
	size := b.Rows * b.Length
	b.InputIDs = slices.Grow(b.InputIDs[:0], size)[:size]
	b.AttentionMask = slices.Grow(b.AttentionMask[:0], size)[:size]
	b.TokenTypeIDs = slices.Grow(b.TokenTypeIDs[:0], size)[:size]
	for i, e := range encodings {
		b.row(i, e, int64(pad))
	}
}

func (b *Batch) row(i int, e *Encoding, pad int64) {
	at, end := i*b.Length, (i+1)*b.Length
	for j, id := range e.IDs {
		b.InputIDs[at+j] = int64(id)
		b.AttentionMask[at+j] = 1
		b.TokenTypeIDs[at+j] = int64(e.TypeIDs[j])
	}
	for j := at + len(e.IDs); j < end; j++ {
		b.InputIDs[j] = pad
		b.AttentionMask[j] = 0
		b.TokenTypeIDs[j] = 0
	}
}

// Shape is that of each tensor.
func (b *Batch) Shape() []int64 { return []int64{int64(b.Rows), int64(b.Length)} }
