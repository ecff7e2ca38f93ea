package tokenizers

import "fmt"

// Chunk is the encoding of a part of a text.
type Chunk struct {
	*Encoding
	Tokens int // of the text that is cut, without special tokens and what every chunk repeats
}

// ChunkOptions say how a text is cut into chunks.
type ChunkOptions struct {
	MaxLength int // of a chunk in tokens, special tokens included
	Overlap   int // tokens that a chunk shares with the one before it
	// MayMake returns an error if a text may not have n chunks. It is called before they are made.
	MayMake func(n int) error
}

// Tokens returns the token ids of a text, without special tokens.
func (t *Tokenizer) Tokens(text string) ([]int32, error) {
	p := t.passes.Get().(*pass)
	defer t.release(p)
	return t.tokenize(p, text, nil)
}

// Chunks encodes the tokens of a text in chunks that overlap, as the reference library returns overflowing tokens. Each
// chunk begins with prefix. A text that fits gives one chunk.
func (t *Tokenizer) Chunks(prefix, text []int32, o ChunkOptions) ([]Chunk, error) {
	room := o.MaxLength - countSpecial(t.post.single) - len(prefix)
	return chunks(text, room, o, func(part []int32) (*Encoding, error) {
		row := make([]int32, 0, len(prefix)+len(part))
		return newEncoding(t.post.single, append(append(row, prefix...), part...), nil, Options{})
	})
}

// PairChunks encodes the tokens of two texts. The second is cut into chunks, and the first is in each of them.
func (t *Tokenizer) PairChunks(first, second []int32, o ChunkOptions) ([]Chunk, error) {
	room := o.MaxLength - countSpecial(t.post.pair) - len(first)
	return chunks(second, room, o, func(part []int32) (*Encoding, error) {
		return newEncoding(t.post.pair, first, part, Options{})
	})
}

// chunks encodes parts of at most room tokens.
func chunks(text []int32, room int, o ChunkOptions, encode func(part []int32) (*Encoding, error)) ([]Chunk, error) {
	parts, err := Windows(len(text), room, o.Overlap)
	if err != nil {
		return nil, &LengthError{Length: o.MaxLength - room + len(text), Max: o.MaxLength}
	}
	if err := o.MayMake(len(parts)); err != nil {
		return nil, err
	}
	out := make([]Chunk, len(parts))
	for i, part := range parts {
		row, err := encode(text[part[0]:part[1]])
		if err != nil {
			return nil, err
		}
		out[i] = Chunk{Encoding: row, Tokens: part[1] - part[0]}
	}
	return out, nil
}

// Windows cuts n tokens into windows of room tokens, of which each but the first starts with the last overlap tokens of
// the one before it. It returns the bounds [from, to) of each window. Nothing has one empty window.
func Windows(n, room, overlap int) ([][2]int, error) {
	if n == 0 && room >= 0 {
		return [][2]int{{}}, nil
	}
	if room <= overlap || overlap < 0 {
		return nil, fmt.Errorf("windows of %d tokens cannot overlap by %d", room, overlap)
	}
	var windows [][2]int
	for from := 0; ; from += room - overlap {
		to := min(from+room, n)
		windows = append(windows, [2]int{from, to})
		if to == n {
			return windows, nil
		}
	}
}
