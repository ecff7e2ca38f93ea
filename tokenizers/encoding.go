package tokenizers

import (
	"fmt"
	"slices"
)

// Encoding is the model input for a text or a pair of texts. All slices have the same length.
type Encoding struct {
	IDs     []int32 // token ids
	TypeIDs []int32 // segment ids: 0 for the first text, set by the post-processor for the second
	Offsets []Span  // bytes of the text that a token stands for; zero for special tokens
	Source  []int8  // text of Offsets: 0 or 1, or -1 for a special token of the post-processor

	// Length is the number of tokens before truncation, special tokens included.
	Length int
}

// Direction is the end of a text that truncation cuts off.
type Direction uint8

const (
	Right Direction = iota // keep the start
	Left                   // keep the end
)

// Strategy is how an input that is longer than [Options.MaxLength] is truncated.
type Strategy uint8

const (
	Refuse       Strategy = iota // return a [*LengthError]
	LongestFirst                 // shorten the longer text, then both
	OnlyFirst                    // shorten the first text; a [*LengthError] if nothing of it would be left
	OnlySecond                   // shorten the second text; a [*LengthError] if nothing of it would be left
)

// Options of one call. The zero value encodes the whole text with the model's special tokens.
type Options struct {
	MaxLength int // in tokens, special tokens included; 0 for no limit
	Strategy  Strategy
	Direction Direction
	Bare      bool // without the special tokens of the post-processor
}

// LengthError reports an input with more tokens than allowed.
type LengthError struct {
	Length int // tokens of the input, special tokens included
	Max    int // tokens allowed
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("input of %d tokens exceeds the maximum of %d", e.Length, e.Max)
}

// truncate shortens two sequences to room tokens in total. The second may be empty. length is for the error.
func (o Options) truncate(first, second *sequence, room, length int) error {
	a := len(first.ids)
	b := len(second.ids)
	excess := a + b - room
	if excess <= 0 {
		return nil
	}
	tooLong := &LengthError{Length: length, Max: o.MaxLength}
	switch {
	case o.Strategy == Refuse || room < 0:
		return tooLong
	case o.Strategy == LongestFirst:
		a, b = longestFirst(a, b, room)
	case o.Strategy == OnlyFirst && a > excess:
		a -= excess
	case o.Strategy == OnlySecond && b > excess:
		b -= excess
	default:
		return tooLong
	}
	first.keep(a, o.Direction)
	second.keep(b, o.Direction)
	return nil
}

// longestFirst divides room between two sequences. Only the longer one is shortened if that suffices; else each gets
// half, and an odd token goes to the longer (the second if they are equal).
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

// keep truncates to n tokens.
func (s *sequence) keep(n int, d Direction) {
	if n >= len(s.ids) {
		return
	}
	if d == Left {
		s.ids = s.ids[len(s.ids)-n:]
		s.spans = s.spans[len(s.spans)-n:]
		return
	}
	s.ids = s.ids[:n]
	s.spans = s.spans[:n]
}

// Batch has the encodings of a batch, padded to the longest, as the three row-major tensors [Rows, Length] of a
// BERT-like model. Fill reuses the buffers.
type Batch struct {
	Rows, Length  int
	InputIDs      []int64 // token ids, then padding
	AttentionMask []int64 // 1 for tokens, 0 for padding
	TokenTypeIDs  []int64 // segment ids, 0 for padding
}

// Fill replaces the content of the batch. Without encodings, or if all are empty, the tensors have no elements.
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
	start := i * b.Length
	end := start + b.Length
	for j, id := range e.IDs {
		b.InputIDs[start+j] = int64(id)
		b.AttentionMask[start+j] = 1
		b.TokenTypeIDs[start+j] = int64(e.TypeIDs[j])
	}
	for j := start + len(e.IDs); j < end; j++ {
		b.InputIDs[j] = pad
		b.AttentionMask[j] = 0
		b.TokenTypeIDs[j] = 0
	}
}

// Shape returns the shape of each tensor.
func (b *Batch) Shape() []int64 { return []int64{int64(b.Rows), int64(b.Length)} }
