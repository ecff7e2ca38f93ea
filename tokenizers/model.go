package tokenizers

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// parseModel reads the model. Files of the library's first years do not name its type, which is then guessed from its
// members.
func parseModel(raw json.RawMessage, byteLevel bool) (model, error) {
	if absent(raw) {
		return nil, errors.New("missing")
	}
	name, err := kind(raw)
	if err != nil {
		return nil, err
	}
	if name == "" {
		name = guessModel(raw)
	}
	if byteLevel && name != "BPE" {
		return nil, fmt.Errorf("%s with a ByteLevel pre_tokenizer is not known", name)
	}
	switch name {
	case "WordPiece":
		return parseWordPiece(raw)
	case "BPE":
		return parseBPE(raw, byteLevel)
	case "Unigram":
		return parseUnigram(raw)
	}
	return nil, unknown(name)
}

func guessModel(raw json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return ""
	}
	for member, name := range map[string]string{"merges": "BPE", "unk_id": "Unigram", "max_input_chars_per_word": "WordPiece"} {
		if _, ok := members[member]; ok {
			return name
		}
	}
	return ""
}

// fixed reads a JSON array of exactly as many elements as there are variables to read them into.
func fixed(b []byte, into ...any) error {
	n := len(into)
	if err := json.Unmarshal(b, &into); err != nil {
		return err
	}
	if len(into) != n {
		return fmt.Errorf("want %d elements, got %.40s", n, strings.TrimSpace(string(b)))
	}
	return nil
}

// vocabulary is a model's tokens in both directions.
type vocabulary struct {
	ids    map[string]int32
	tokens map[int32]string
}

// maxID keeps a damaged file from asking for tables of gigabytes.
const maxID = 1<<24 - 1

func newVocabulary(ids map[string]int32) (*vocabulary, error) {
	v := &vocabulary{ids: ids, tokens: make(map[int32]string, len(ids))}
	for token, id := range ids {
		if other, twice := v.tokens[id]; twice {
			return nil, fmt.Errorf("vocabulary: id %d is both %q and %q", id, min(other, token), max(other, token))
		}
		if id < 0 || id > maxID {
			return nil, fmt.Errorf("vocabulary: id %d of %q is not between 0 and %d", id, token, maxID)
		}
		v.tokens[id] = token
	}
	return v, nil
}

// trie holds every token but the empty one, which no text can contain.
func (v *vocabulary) trie() *trie {
	keys := make([]key, 0, len(v.ids))
	for token, id := range v.ids {
		if token != "" {
			keys = append(keys, key{token, id})
		}
	}
	return newTrie(keys)
}

func (v *vocabulary) id(token string) (int32, bool) {
	id, ok := v.ids[token]
	return id, ok
}

func (v *vocabulary) token(id int32) (string, bool) {
	token, ok := v.tokens[id]
	return token, ok
}

func (v *vocabulary) size() int { return len(v.ids) }

// fallback finds the tokens <0x00> … <0xFF>; nil if one is missing.
func (v *vocabulary) fallback() *[256]int32 {
	var all [256]int32
	for c := range all {
		id, ok := v.ids[fmt.Sprintf("<0x%02X>", c)]
		if !ok {
			return nil
		}
		all[c] = id
	}
	return &all
}
