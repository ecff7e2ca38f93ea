package tokenizers

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// wordPiece splits a word from left to right, each time at the end of the longest token. Tokens after the first have a
// prefix in the vocabulary. A word that cannot be split, or is too long, becomes one unknown token (Wu et al. 2016,
// "Google's Neural Machine Translation System").
type wordPiece struct {
	*vocabulary
	words        *trie
	unknown      int32
	continuation int32 // node of the trie after the prefix, or noNode if no token has it
	maxChars     int
}

func newWordPiece(v *vocabulary, unknown int32, prefix string, maxChars int) *wordPiece {
	m := &wordPiece{vocabulary: v, words: v.trie(), unknown: unknown, maxChars: maxChars, continuation: noNode}
	if node, ok := m.words.find(0, prefix); ok {
		m.continuation = node
	}
	return m
}

func (m *wordPiece) tokenize(p *pass, lo, hi int32, s *sequence) {
	word := p.text.b[lo:hi]
	if len(word) > m.maxChars && utf8.RuneCount(word) > m.maxChars {
		s.add(m.unknown, p.text.span(lo, hi))
		return
	}
	before := len(s.ids)
	node := int32(0)
	for at := lo; at < hi; node = m.continuation {
		id := int32(noToken)
		n := 0
		if node != noNode {
			id, n = m.words.longest(node, p.text.b[at:hi])
		}
		if id == noToken {
			s.ids = s.ids[:before]
			s.spans = s.spans[:before]
			s.add(m.unknown, p.text.span(lo, hi))
			return
		}
		s.add(id, p.text.span(at, at+int32(n)))
		at += int32(n)
	}
}

func parseWordPiece(raw json.RawMessage) (model, error) {
	var c struct {
		head
		Unknown  string           `json:"unk_token"`
		Prefix   string           `json:"continuing_subword_prefix"`
		MaxChars int              `json:"max_input_chars_per_word"`
		Vocab    map[string]int32 `json:"vocab"`
	}
	if err := strict(raw, &c); err != nil {
		return nil, err
	}
	unknown, ok := c.Vocab[c.Unknown]
	if !ok {
		return nil, fmt.Errorf("WordPiece: unk_token %q is not in the vocabulary", c.Unknown)
	}
	v, err := newVocabulary(c.Vocab)
	if err != nil {
		return nil, err
	}
	return newWordPiece(v, unknown, c.Prefix, c.MaxChars), nil
}
