package tokenizers

import (
	"fmt"
	"math"
	"os"
	"sync"
)

// Tokenizer is a pipeline read from a tokenizer.json. It does not change after loading.
type Tokenizer struct {
	rawMatcher        *matcher // of added tokens in the input
	normalize         []stage
	normalizedMatcher *matcher // of added tokens in the normalized text
	split             []stage
	model             model
	post              postProcessor
	addedIDs          map[string]int32
	added             []addedToken
	decoder           decodeStep // nil joins the tokens with spaces
	decoderErr        error      // of a decoder that is not supported
	names             func() *names
	size              int
	pad               int32
	passes            sync.Pool
}

// model turns a word into tokens.
type model interface {
	// tokenize appends the tokens of a word to ids.
	tokenize(p *pass, word []byte, ids []int32) []int32
	id(token string) (int32, bool)
	all() vocabulary
	size() int
}

// Load reads a tokenizer.json.
func Load(path string) (*Tokenizer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Encode tokenizes a text. Bytes that are not UTF-8 count as U+FFFD.
func (t *Tokenizer) Encode(text string, o Options) (*Encoding, error) {
	p := t.passes.Get().(*pass)
	defer t.release(p)
	var err error
	if p.first, err = t.tokenize(p, text, p.first[:0]); err != nil {
		return nil, err
	}
	return newEncoding(t.post.single, p.first, nil, o)
}

// EncodePair tokenizes two texts, such as a query and a passage, into one sequence.
func (t *Tokenizer) EncodePair(first, second string, o Options) (*Encoding, error) {
	p := t.passes.Get().(*pass)
	defer t.release(p)
	var err error
	if p.first, err = t.tokenize(p, first, p.first[:0]); err != nil {
		return nil, err
	}
	if p.second, err = t.tokenize(p, second, p.second[:0]); err != nil {
		return nil, err
	}
	return newEncoding(t.post.pair, p.first, p.second, o)
}

// release returns a pass to the pool, unless a long text made it large.
func (t *Tokenizer) release(p *pass) {
	if cap(p.text)+cap(p.out) <= 1<<20 {
		t.passes.Put(p)
	}
}

// tokenize appends the tokens of one text to ids.
func (t *Tokenizer) tokenize(p *pass, input string, ids []int32) ([]int32, error) {
	if len(input) > math.MaxInt32/8 {
		return nil, fmt.Errorf("text of %d bytes is too large to tokenize", len(input))
	}
	p.load(input)
	t.rawMatcher.apply(p)
	for _, st := range t.normalize {
		st.apply(p)
	}
	t.normalizedMatcher.apply(p)
	for _, st := range t.split {
		st.apply(p)
	}
	for _, pc := range p.pieces {
		if pc.id >= 0 {
			ids = append(ids, pc.id)
		} else {
			ids = t.model.tokenize(p, p.text[pc.lo:pc.hi], ids)
		}
	}
	return ids, nil
}

// id looks up a token, added tokens first.
func (t *Tokenizer) id(token string) (int32, bool) {
	if id, ok := t.addedIDs[token]; ok {
		return id, true
	}
	return t.model.id(token)
}

// Size returns the number of tokens, added tokens included.
func (t *Tokenizer) Size() int { return t.size }

// PadID returns the token to pad with: the one in the padding section of the file, else [PAD] or <pad>, else 0. The
// attention mask hides it from the model, but RoBERTa computes positions with it.
func (t *Tokenizer) PadID() int32 { return t.pad }
