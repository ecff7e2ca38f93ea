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
	decoders          []decoder
	added             map[int32]*addedToken
	addedIDs          map[string]int32
	forms             map[int32]string // of added tokens: content, normalized if Normalized
	specials          map[string]bool  // by content
	margins           []margin         // of the model's tokens, if the post-processor trims
	size              int
	pad               int32
	passes            sync.Pool
}

// model turns a word into tokens.
type model interface {
	tokenize(p *pass, lo, hi int32, s *sequence)
	id(token string) (int32, bool)
	token(id int32) (string, bool)
	size() int
}

// Load reads a tokenizer.json.
func Load(path string) (*Tokenizer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Encode tokenizes a text. Bytes that are not UTF-8 count as U+FFFD.
func (t *Tokenizer) Encode(text string, o Options) (*Encoding, error) {
	e := &Encoding{}
	if err := t.EncodeInto(e, text, o); err != nil {
		return nil, err
	}
	return e, nil
}

// EncodePair tokenizes two texts, such as a query and a passage, into one sequence.
func (t *Tokenizer) EncodePair(first, second string, o Options) (*Encoding, error) {
	e := &Encoding{}
	if err := t.EncodePairInto(e, first, second, o); err != nil {
		return nil, err
	}
	return e, nil
}

// EncodeInto is like Encode, but overwrites e.
func (t *Tokenizer) EncodeInto(e *Encoding, text string, o Options) error {
	p := t.passes.Get().(*pass)
	defer t.release(p)
	if err := t.run(p, text, &p.first); err != nil {
		return err
	}
	p.second.reset("")
	return t.finish(e, p, t.post.single, o)
}

// EncodePairInto is like EncodePair, but overwrites e.
func (t *Tokenizer) EncodePairInto(e *Encoding, first, second string, o Options) error {
	p := t.passes.Get().(*pass)
	defer t.release(p)
	if err := t.run(p, first, &p.first); err != nil {
		return err
	}
	if err := t.run(p, second, &p.second); err != nil {
		return err
	}
	return t.finish(e, p, t.post.pair, o)
}

// release returns a pass to the pool, unless a long text made it large.
func (t *Tokenizer) release(p *pass) {
	if cap(p.text.b)+cap(p.out.b) <= 1<<20 {
		t.passes.Put(p)
	}
}

// run tokenizes one text into s.
func (t *Tokenizer) run(p *pass, input string, s *sequence) error {
	if len(input) > math.MaxInt32/8 {
		return fmt.Errorf("text of %d bytes is too large to tokenize", len(input))
	}
	s.reset(input)
	p.text.load(input)
	p.pieces = p.pieces[:0]
	if input != "" {
		p.pieces = append(p.pieces, piece{0, int32(len(p.text.b)), noToken})
	}
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
			s.add(pc.id, p.text.span(pc.lo, pc.hi))
		} else {
			t.model.tokenize(p, pc.lo, pc.hi, s)
		}
	}
	return nil
}

// finish truncates the sequences and joins them with special tokens.
func (t *Tokenizer) finish(e *Encoding, p *pass, slots []slot, o Options) error {
	special := 0
	if !o.Bare {
		special = countSpecial(slots)
	}
	first := p.first
	second := p.second
	length := len(first.ids) + len(second.ids) + special
	if o.MaxLength > 0 {
		if err := o.truncate(&first, &second, o.MaxLength-special, length); err != nil {
			return err
		}
	}
	if t.post.trim {
		t.trim(&first)
		t.trim(&second)
	}
	e.clear(len(first.ids) + len(second.ids) + special)
	e.Length = length
	for _, s := range slots {
		switch {
		case s.source == 0:
			e.text(s, first)
		case s.source == 1:
			e.text(s, second)
		case !o.Bare:
			e.push(s.id, s.typeID, Span{}, specialSource)
		}
	}
	return nil
}

// ID looks up a token, added tokens first.
func (t *Tokenizer) ID(token string) (int32, bool) {
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
