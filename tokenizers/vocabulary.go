package tokenizers

import "fmt"

// vocabulary is a model's tokens in both directions.
type vocabulary struct {
	ids    map[string]int32
	tokens map[int32]string
}

func newVocabulary(ids map[string]int32) (*vocabulary, error) {
	v := &vocabulary{ids: ids, tokens: make(map[int32]string, len(ids))}
	for token, id := range ids {
		if other, twice := v.tokens[id]; twice {
			return nil, fmt.Errorf("vocabulary: id %d is both %q and %q", id, min(other, token), max(other, token))
		}
		if id < 0 {
			return nil, fmt.Errorf("vocabulary: id %d of %q is negative", id, token)
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
