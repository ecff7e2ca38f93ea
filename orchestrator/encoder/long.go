package encoder

import (
	"sync/atomic"

	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// Reading says how much of the texts of a request a model read.
type Reading struct {
	Tokens    int // of all rows, special tokens included: where chunks overlap, a token counts in each
	Truncated int // tokens that were cut off
	Chunks    int // rows of the texts that were cut into chunks
}

// Add adds a row that may have been truncated.
func (r *Reading) Add(row *tokenizers.Encoding) {
	r.Tokens += len(row.IDs)
	r.Truncated += row.Length - len(row.IDs)
}

// AddChunks adds the rows of one text.
func (r *Reading) AddChunks(chunks []tokenizers.Chunk) {
	for _, chunk := range chunks {
		r.Tokens += len(chunk.IDs)
	}
	if len(chunks) > 1 {
		r.Chunks += len(chunks)
	}
}

// ChunkBudget bounds the chunks of all texts of a request. It is safe for concurrent use.
type ChunkBudget struct {
	most int
	used atomic.Int64
}

// NewChunkBudget returns a budget of at most that many chunks.
func NewChunkBudget(most int) *ChunkBudget { return &ChunkBudget{most: most} }

// Take takes n chunks, or returns an Invalid error.
func (b *ChunkBudget) Take(n int) error {
	if b.used.Add(int64(n)) > int64(b.most) {
		return fault.New(fault.Invalid, "Input needs more than the %d chunks that the texts of a request may have", b.most)
	}
	return nil
}

// overlapShare is the share of a chunk's text, one in that many tokens, that the chunk before it has too: a sentence
// at the border is then whole in one of them.
const overlapShare = 8

// chunkOptions returns the options for chunks that have room tokens for the text.
func (e *Encoder) chunkOptions(room int, budget *ChunkBudget) tokenizers.ChunkOptions {
	return tokenizers.ChunkOptions{MaxLength: e.MaxTokens, Overlap: max(room, 0) / overlapShare, MayMake: budget.Take}
}

// EncodeChunks tokenizes a text in chunks of MaxTokens that overlap. Each begins with the tokens of prefix. A text that
// fits is encoded as by Encode.
func (e *Encoder) EncodeChunks(prefix, text string, budget *ChunkBudget) ([]tokenizers.Chunk, error) {
	head, err := e.Tokenizer.Tokens(prefix)
	if err != nil {
		return nil, err
	}
	ids, err := e.tokens(prefix + text)
	if err != nil {
		return nil, err
	}
	head = ids[:commonPrefix(head, ids)]
	empty, err := e.Tokenizer.Encode("", tokenizers.Options{})
	if err != nil {
		return nil, err
	}
	room := e.MaxTokens - len(empty.IDs) - len(head)
	return e.Tokenizer.Chunks(head, ids[len(head):], e.chunkOptions(room, budget))
}

// EncodePairChunks tokenizes a pair of texts. The second is cut into chunks that overlap, each in a row of MaxTokens
// with the whole first text. A pair that fits is encoded as by EncodePair.
func (e *Encoder) EncodePairChunks(first, second string, budget *ChunkBudget) ([]tokenizers.Chunk, error) {
	head, err := e.tokens(first)
	if err != nil {
		return nil, err
	}
	ids, err := e.tokens(second)
	if err != nil {
		return nil, err
	}
	empty, err := e.Tokenizer.EncodePair("", "", tokenizers.Options{})
	if err != nil {
		return nil, err
	}
	room := e.MaxTokens - len(empty.IDs) - len(head)
	return e.Tokenizer.PairChunks(head, ids, e.chunkOptions(room, budget))
}

// commonPrefix returns the number of equal tokens at the start.
func commonPrefix(a, b []int32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// tokens is Tokenizer.Tokens with little memory for long texts.
func (e *Encoder) tokens(text string) (ids []int32, err error) {
	if len(text) <= longText {
		return e.Tokenizer.Tokens(text)
	}
	for piece := range pieces(text) {
		more, err := e.Tokenizer.Tokens(piece)
		if err != nil {
			return nil, err
		}
		ids = append(ids, more...)
	}
	return ids, nil
}
