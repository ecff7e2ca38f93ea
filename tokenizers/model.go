package tokenizers

import (
	"encoding/json"
	"fmt"
)

// parseModel reads the model.
func parseModel(raw json.RawMessage, byteLevel bool) (model, error) {
	name, err := kind(raw)
	if err != nil {
		return nil, err
	}
	switch name {
	case "WordPiece":
		return parseWordPiece(raw)
	}
	return nil, unknown(name)
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
	unk, ok := c.Vocab[c.Unknown]
	if !ok {
		return nil, fmt.Errorf("WordPiece: unk_token %q is not in the vocabulary", c.Unknown)
	}
	v, err := newVocabulary(c.Vocab)
	if err != nil {
		return nil, err
	}
	return newWordPiece(v, unk, c.Prefix, c.MaxChars), nil
}
