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
	vocabulary
	words        *trie
	unknown      int32
	continuation int32 // node of the trie after the prefix, or noNode if no token has it
	maxChars     int
}

func (m *wordPiece) tokenize(_ *pass, word []byte, ids []int32) []int32 {
	if len(word) > m.maxChars && utf8.RuneCount(word) > m.maxChars {
		return append(ids, m.unknown)
	}
	before := len(ids)
	for node := int32(0); len(word) > 0; node = m.continuation {
		id := int32(noToken)
		n := 0
		if node != noNode {
			id, n = m.words.longest(node, word)
		}
		if id == noToken {
			return append(ids[:before], m.unknown)
		}
		ids = append(ids, id)
		word = word[n:]
	}
	return ids
}

func parseWordPiece(raw json.RawMessage) (model, error) {
	var c struct {
		component
		Unknown  string     `json:"unk_token"`
		Prefix   string     `json:"continuing_subword_prefix"`
		MaxChars int        `json:"max_input_chars_per_word"`
		Vocab    vocabulary `json:"vocab"`
	}
	if err := decodeComponent(raw, &c); err != nil {
		return nil, err
	}
	unknown, ok := c.Vocab[c.Unknown]
	if !ok {
		return nil, fmt.Errorf("WordPiece: unk_token %q is not in the vocabulary", c.Unknown)
	}
	if err := c.Vocab.check(); err != nil {
		return nil, err
	}
	m := &wordPiece{
		vocabulary: c.Vocab,
		words:      newTrie(c.Vocab),
		unknown:    unknown,
		maxChars:   c.MaxChars,
	}
	m.continuation = m.words.find(c.Prefix)
	return m, nil
}
