package modelimport

import (
	"encoding/json"
	"errors"
	"fmt"

	"retort/tokenizers"
)

// safeTokenizer is a tokenizer.json of safe-mol (safe/tokenizer.py, SAFETokenizer): byte-pair encoding within the
// symbols of a SAFE string. The file says Whitespace in place of its pre-tokenizer, which is code in Python, and sets
// custom_pre_tokenizer. Its added tokens may have ids that differ from the vocabulary, which decides.
type safeTokenizer struct {
	file    map[string]json.RawMessage
	model   map[string]json.RawMessage
	ids     map[string]int64 // of all tokens
	added   []map[string]any
	special specialTokens

	baseSize int // number of tokens before addBrackets
}

// readSAFETokenizer reads and checks tokenizer.json.
func readSAFETokenizer(f *folder) (*safeTokenizer, error) {
	data, err := f.read("tokenizer.json")
	if err != nil {
		return nil, err
	}
	t := &safeTokenizer{}
	if err := t.parse(data); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	return t, nil
}

func (t *safeTokenizer) parse(data []byte) error {
	var kind string
	var custom bool
	err := errors.Join(json.Unmarshal(data, &t.file), json.Unmarshal(orNull(t.file["model"]), &t.model),
		json.Unmarshal(orNull(t.model["type"]), &kind), json.Unmarshal(orNull(t.model["vocab"]), &t.ids),
		json.Unmarshal(orNull(t.file["added_tokens"]), &t.added),
		json.Unmarshal(orNull(t.file["custom_pre_tokenizer"]), &custom))
	if err != nil {
		return err
	}
	if !custom || kind != "BPE" {
		return fmt.Errorf("model.type %q, custom_pre_tokenizer %t: only a tokenizer of safe-mol (BPE, true) is supported",
			kind, custom)
	}
	if t.ids == nil {
		return errors.New("it has no model.vocab")
	}
	for _, token := range t.added {
		if token == nil {
			return errors.New("added_tokens has null")
		}
		content, _ := token["content"].(string)
		if _, ok := t.ids[content]; !ok {
			t.ids[content] = int64(len(t.ids))
		}
		token["id"] = t.ids[content]
	}
	t.baseSize = len(t.ids)
	for token, id := range t.ids {
		if id < 0 || id >= int64(t.baseSize) {
			return fmt.Errorf("the vocabulary has id %d for %q: the ids of %d tokens are 0 to %d",
				id, token, t.baseSize, t.baseSize-1)
		}
	}
	for name, id := range map[string]*int64{
		"[CLS]": &t.special.bos, "[SEP]": &t.special.eos, "[PAD]": &t.special.pad, "[MASK]": &t.special.mask,
	} {
		var ok bool
		if *id, ok = t.ids[name]; !ok {
			return fmt.Errorf("it has no token %s", name)
		}
	}
	return nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// size returns the number of tokens.
func (t *safeTokenizer) size() int { return len(t.ids) }

func (t *safeTokenizer) hasBrackets() bool {
	_, opening := t.ids["<"]
	_, closing := t.ids[">"]
	return opening && closing
}

// addBrackets adds the tokens < and >, as GenMol does when it loads the tokenizer (src/genmol/utils/utils_data.py). If
// the tokenizer has one of them already, a row of the model's table is left without a token; its text is empty.
func (t *safeTokenizer) addBrackets() {
	for _, token := range []string{"<", ">"} {
		if _, ok := t.ids[token]; !ok {
			t.add(token, false)
		}
	}
	for len(t.ids) < t.baseSize+2 {
		t.add(fmt.Sprintf("[unused%d]", len(t.ids)), true)
	}
}

func (t *safeTokenizer) add(token string, special bool) {
	id := int64(len(t.ids))
	t.ids[token] = id
	t.added = append(t.added, map[string]any{
		"id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
		"normalized": !special, "special": special,
	})
}

// text returns a tokenizer.json that the library of Hugging Face reads without code of safe-mol.
func (t *safeTokenizer) text() ([]byte, error) {
	return json.Marshal(map[string]any{
		"version":        "1.0",
		"truncation":     nil,
		"padding":        nil,
		"added_tokens":   t.added,
		"normalizer":     nil,
		"pre_tokenizer":  tokenizers.SAFEPreTokenizer,
		"post_processor": orNull(t.file["post_processor"]),
		"decoder":        orNull(t.file["decoder"]),
		"model":          t.model,
	})
}
