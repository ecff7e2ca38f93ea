package tokenizers

import "slices"

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
