package tokenizers

import (
	"fmt"
	"slices"
)

// Encoding is the model input for a text or a pair of texts. Both slices have the same length.
type Encoding struct {
	IDs     []int32 // token ids
	TypeIDs []int32 // segment ids: 0 for the first text, set by the post-processor for the second

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
	Plain     bool // add no special tokens around a single text
}

// LengthError reports an input with more tokens than allowed.
type LengthError struct {
	Length int // tokens of the input, special tokens included
	Max    int // tokens allowed
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("input of %d tokens exceeds the maximum of %d", e.Length, e.Max)
}

// newEncoding truncates the tokens of the texts and joins them with special tokens.
func newEncoding(slots []slot, first, second []int32, o Options) (*Encoding, error) {
	special := countSpecial(slots)
	length := len(first) + len(second) + special
	if o.MaxLength > 0 && length > o.MaxLength {
		a, b, ok := o.truncate(len(first), len(second), o.MaxLength-special)
		if !ok {
			return nil, &LengthError{Length: length, Max: o.MaxLength}
		}
		first = o.Direction.truncate(first, a)
		second = o.Direction.truncate(second, b)
	}
	n := len(first) + len(second) + special
	e := &Encoding{IDs: make([]int32, 0, n), TypeIDs: make([]int32, 0, n), Length: length}
	for _, s := range slots {
		switch s.source {
		case specialSource:
			e.IDs = append(e.IDs, s.id)
		case 0:
			e.IDs = append(e.IDs, first...)
		case 1:
			e.IDs = append(e.IDs, second...)
		}
		for len(e.TypeIDs) < len(e.IDs) {
			e.TypeIDs = append(e.TypeIDs, s.typeID)
		}
	}
	return e, nil
}

// truncate returns how many of the a and b tokens of two texts to keep so that at most room remain. ok is false if the
// strategy does not allow it. b may be 0.
func (o Options) truncate(a, b, room int) (keepA, keepB int, ok bool) {
	excess := a + b - room
	switch {
	case o.Strategy == Refuse || room < 0:
		return 0, 0, false
	case o.Strategy == LongestFirst:
		keepA, keepB = longestFirst(a, b, room)
		return keepA, keepB, true
	case o.Strategy == OnlyFirst && a > excess:
		return a - excess, b, true
	case o.Strategy == OnlySecond && b > excess:
		return a, b - excess, true
	}
	return 0, 0, false
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

// truncate cuts ids to n tokens at the end d.
func (d Direction) truncate(ids []int32, n int) []int32 {
	if d == Left {
		return ids[len(ids)-n:]
	}
	return ids[:n]
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
