package encoder

import (
	"errors"
	"sort"
	"sync/atomic"
	"unicode/utf8"

	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// Reading says how much of the texts of a request a model read.
type Reading struct {
	Tokens    int // of all rows, special tokens included: where chunks overlap, a token counts in each
	Truncated int // tokens that were cut off
	Chunks    int // rows of the texts that were cut into chunks
	Rows      int // of all texts
}

// Add adds a row that may have been truncated.
func (r *Reading) Add(row *tokenizers.Encoding) {
	r.Tokens += len(row.IDs)
	r.Truncated += row.Length - len(row.IDs)
	r.Rows++
}

// AddChunks adds the rows of one text.
func (r *Reading) AddChunks(chunks []tokenizers.Chunk) {
	for _, chunk := range chunks {
		r.Tokens += len(chunk.IDs)
		r.Truncated += chunk.Length - len(chunk.IDs)
	}
	r.Rows += len(chunks)
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

// ChunkOptions bound the chunks of one text.
type ChunkOptions struct {
	Budget *ChunkBudget
	// MostTokens is the most tokens of the text that are read; 0: all.
	MostTokens int
	// Reserved is the number of tokens of each row that the caller adds itself.
	Reserved int
}

// EncodeChunks tokenizes a text in chunks of MaxTokens that overlap. Each begins with the tokens of prefix. A text that
// fits is encoded as by Encode.
func (e *Encoder) EncodeChunks(prefix, text string, budget *ChunkBudget) ([]tokenizers.Chunk, error) {
	chunks, _, err := e.EncodeChunksWithin(prefix, text, ChunkOptions{Budget: budget})
	return chunks, err
}

// EncodeChunksWithin is EncodeChunks with bounds. cut reports whether tokens beyond MostTokens were left out.
func (e *Encoder) EncodeChunksWithin(
	prefix, text string, o ChunkOptions,
) (chunks []tokenizers.Chunk, cut bool, err error) {
	head, err := e.Tokenizer.Tokens(prefix)
	if err != nil {
		return nil, false, err
	}
	most := o.MostTokens
	if most > 0 {
		most += len(head)
	}
	ids, err := e.tokens(prefix+text, most)
	if err != nil {
		return nil, false, err
	}
	head = ids[:commonPrefix(head, ids)]
	empty, err := e.Tokenizer.Encode("", tokenizers.Options{})
	if err != nil {
		return nil, false, err
	}
	ids, cut = o.first(ids[len(head):])
	room := e.MaxTokens - o.Reserved - len(empty.IDs) - len(head)
	chunks, err = e.Tokenizer.Chunks(head, ids, e.chunkOptions(room, o))
	return chunks, cut, err
}

// EncodePairChunks encodes a pair of texts, given the Tokens of the first. The second is cut into chunks that overlap,
// each in a row of MaxTokens with the whole first text. A pair that fits is encoded as by EncodePair. cut reports
// whether tokens beyond MostTokens of the second text were left out.
func (e *Encoder) EncodePairChunks(
	first []int32, second string, o ChunkOptions,
) (chunks []tokenizers.Chunk, cut bool, err error) {
	ids, err := e.tokens(second, o.MostTokens)
	if err != nil {
		return nil, false, err
	}
	empty, err := e.Tokenizer.EncodePair("", "", tokenizers.Options{})
	if err != nil {
		return nil, false, err
	}
	ids, cut = o.first(ids)
	room := e.MaxTokens - o.Reserved - len(empty.IDs) - len(first)
	chunks, err = e.Tokenizer.PairChunks(first, ids, e.chunkOptions(room, o))
	return chunks, cut, err
}

// chunkOptions returns the options for chunks that have room tokens for the text.
func (e *Encoder) chunkOptions(room int, o ChunkOptions) tokenizers.ChunkOptions {
	return tokenizers.ChunkOptions{
		MaxLength: e.MaxTokens - o.Reserved,
		Overlap:   max(room, 0) / overlapShare,
		MayMake:   func(n int) error { return e.mayMake(n, o.Budget) },
	}
}

// maxTextTokens is the most tokens of all chunks of one text, which are in memory together: 32 MiB.
const maxTextTokens = 1 << 22

// mayMake returns an error if a text may not have n chunks.
func (e *Encoder) mayMake(n int, budget *ChunkBudget) error {
	if most := max(maxTextTokens/e.MaxTokens, 1); n > most {
		return fault.New(fault.Invalid, "Input needs %d chunks, more than the %d that a text may have", n, most)
	}
	return budget.Take(n)
}

// first returns the tokens that are read, and whether there are more.
func (o ChunkOptions) first(ids []int32) (kept []int32, cut bool) {
	if o.MostTokens == 0 || len(ids) <= o.MostTokens {
		return ids, false
	}
	return ids[:o.MostTokens], true
}

// Start returns the longest start of a text that has at most that many tokens.
func (e *Encoder) Start(text string, most int) (string, error) {
	read := 0
	for piece := range pieces(text) {
		ids, err := e.Tokenizer.Tokens(piece)
		if err != nil {
			return "", err
		}
		if len(ids) > most {
			end, err := e.startOfPiece(piece, most)
			return text[:read+end], err
		}
		most -= len(ids)
		read += len(piece)
	}
	return text, nil
}

// startOfPiece returns the size in bytes of the longest start of a piece that has at most that many tokens.
func (e *Encoder) startOfPiece(piece string, most int) (size int, err error) {
	fits := func(end int) bool {
		for end < len(piece) && !utf8.RuneStart(piece[end]) {
			end++
		}
		ids, failed := e.Tokenizer.Tokens(piece[:end])
		err = errors.Join(err, failed)
		return len(ids) <= most
	}
	return sort.Search(len(piece), func(i int) bool { return !fits(i + 1) }), err
}

// commonPrefix returns the number of equal tokens at the start.
func commonPrefix(a, b []int32) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// Tokens is Tokenizer.Tokens with little memory for long texts.
func (e *Encoder) Tokens(text string) ([]int32, error) { return e.tokens(text, 0) }

// tokens is Tokens. If most is not 0, a long text is read up to that many
// tokens and a few more.
func (e *Encoder) tokens(text string, most int) (ids []int32, err error) {
	if len(text) <= pieceSize || len(text) <= longText && most == 0 {
		return e.Tokenizer.Tokens(text)
	}
	for piece := range pieces(text) {
		more, err := e.Tokenizer.Tokens(piece)
		if err != nil {
			return nil, err
		}
		ids = append(ids, more...)
		if most > 0 && len(ids) > most {
			break
		}
	}
	return ids, nil
}
