package tokenizers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// parseModel reads the model. Old files do not name its type; it is then guessed from the members.
func parseModel(raw json.RawMessage, byteLevel bool) (model, error) {
	if isAbsent(raw) {
		return nil, errors.New("missing")
	}
	name, err := componentType(raw)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = guessModelType(raw)
	}
	if byteLevel && name != "BPE" {
		return nil, fmt.Errorf("%s with a ByteLevel pre_tokenizer is not supported", name)
	}
	switch name {
	case "WordPiece":
		return parseWordPiece(raw)
	case "BPE":
		return parseBPE(raw, byteLevel)
	case "Unigram":
		return parseUnigram(raw)
	}
	return nil, unsupported(name)
}

func guessModelType(raw json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return ""
	}
	for member, name := range map[string]string{
		"merges": "BPE", "unk_id": "Unigram", "max_input_chars_per_word": "WordPiece",
	} {
		if _, ok := members[member]; ok {
			return name
		}
	}
	return ""
}

// parseTuple reads a JSON array into variables. The array must have an element for each.
func parseTuple(b []byte, into ...any) error {
	n := len(into)
	if err := json.Unmarshal(b, &into); err != nil {
		return err
	}
	if len(into) != n {
		return fmt.Errorf("want %d elements, got %.40s", n, strings.TrimSpace(string(b)))
	}
	return nil
}

// vocabulary has the ids of a model's tokens.
type vocabulary map[string]int32

// check refuses ids that are negative or that two tokens share.
func (v vocabulary) check() error {
	tokens := make(map[int32]string, len(v))
	for token, id := range v {
		if other, ok := tokens[id]; ok {
			return fmt.Errorf("vocabulary: id %d is both %q and %q", id, min(other, token), max(other, token))
		}
		if id < 0 {
			return fmt.Errorf("vocabulary: id %d of %q is negative", id, token)
		}
		tokens[id] = token
	}
	return nil
}

func (v vocabulary) id(token string) (int32, bool) {
	id, ok := v[token]
	return id, ok
}

func (v vocabulary) all() vocabulary { return v }

func (v vocabulary) size() int { return len(v) }

// byteTokens returns the tokens <0x00> … <0xFF>, or nil if one is missing.
func (v vocabulary) byteTokens() *[256]int32 {
	var all [256]int32
	for c := range all {
		id, ok := v[fmt.Sprintf("<0x%02X>", c)]
		if !ok {
			return nil
		}
		all[c] = id
	}
	return &all
}
