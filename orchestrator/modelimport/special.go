package modelimport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"retort/tokenizers"
)

// Published folders of decoders have a tokenizer.json that is not what their code computes with. The changes to it:
//
//   - add_bos_token and add_eos_token of tokenizer_config.json add special tokens that the post-processor of
//     tokenizer.json lacks: transformers before version 5 applied these keys to the tokenizers of Llama
//     (intfloat/e5-mistral-7b-instruct), and tokenization_qwen.py of Alibaba-NLP/gte-Qwen2 does. Last-token pooling
//     needs the end token. A token that tokenizer.json adds is never removed.
//   - Tokens of Gemma 3 that the word table lacks are dropped: <image_soft_token> has the first id after the table of
//     google/embeddinggemma-300m. A text with its name then has the tokens of an ordinary word.

// tokenizerChanges returns the new members of tokenizer.json by key, and what the operator should know about them.
func (f *folder) tokenizerChanges() (changes map[string]any, notes []string, err error) {
	changes = map[string]any{}
	d := f.family().decoder
	if d == nil {
		return changes, nil, nil
	}
	if d.gemma {
		kept, dropped, err := f.tokensOfTable()
		if err != nil {
			return nil, nil, err
		}
		if len(dropped) > 0 {
			changes["added_tokens"] = kept
			notes = append(notes, fmt.Sprintf("tokenizer.json: %s is dropped: config.json has vocab_size %d",
				strings.Join(dropped, ", "), f.VocabSize))
		}
	}
	processor, err := f.specialsProcessor()
	if processor != nil {
		changes["post_processor"] = processor
	}
	return changes, notes, err
}

// tokensOfTable returns the added tokens of tokenizer.json that are rows of the word table, and the names of the
// others.
func (f *folder) tokensOfTable() (kept []json.RawMessage, dropped []string, err error) {
	var file struct {
		Tokens []json.RawMessage `json:"added_tokens"`
	}
	if _, err := f.readJSON("tokenizer.json", &file); err != nil {
		return nil, nil, err
	}
	for _, raw := range file.Tokens {
		var token struct {
			ID      int    `json:"id"`
			Content string `json:"content"`
		}
		if err := json.Unmarshal(raw, &token); err != nil {
			return nil, nil, fmt.Errorf("added_tokens: %w", err)
		}
		if token.ID < f.VocabSize {
			kept = append(kept, raw)
		} else {
			dropped = append(dropped, token.Content)
		}
	}
	return kept, dropped, nil
}

// specialName is the value of bos_token or eos_token: a string, or an object with the string as content.
type specialName string

func (s *specialName) UnmarshalJSON(text []byte) error {
	var object struct {
		Content string `json:"content"`
	}
	if json.Unmarshal(text, &object) == nil {
		*s = specialName(object.Content)
		return nil
	}
	return json.Unmarshal(text, (*string)(s))
}

// special is a token that the tokenizer should put before or after each text.
type special struct {
	key    string // of tokenizer_config.json
	add    bool   // the value of key
	name   specialName
	id     int32
	exists bool // the post-processor of tokenizer.json has it
}

// specialsProcessor returns the post-processor that adds the special tokens of tokenizer_config.json, or nil if that of
// tokenizer.json does.
func (f *folder) specialsProcessor() (any, error) {
	const name = "tokenizer_config.json"
	var c struct {
		AddBegin bool        `json:"add_bos_token"`
		AddEnd   bool        `json:"add_eos_token"`
		Begin    specialName `json:"bos_token"`
		End      specialName `json:"eos_token"`
	}
	if _, err := f.readJSON(name, &c); err != nil || !(c.AddBegin || c.AddEnd) {
		return nil, err
	}
	t, err := tokenizers.Load(f.path("tokenizer.json"))
	if err != nil {
		return nil, err
	}
	ids, err := f.addedIDs()
	if err != nil {
		return nil, err
	}
	empty, err1 := t.Encode("", tokenizers.Options{})
	word, err2 := t.Encode("a", tokenizers.Options{})
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	begin := &special{key: "add_bos_token", add: c.AddBegin, name: c.Begin}
	end := &special{key: "add_eos_token", add: c.AddEnd, name: c.End}
	missing := false
	existing := 0 // tokens that the post-processor adds
	for _, s := range []*special{begin, end} {
		id, ok := ids[string(s.name)]
		if s.add && !ok {
			return nil, fmt.Errorf("%s: %s is set, but added_tokens has no %q", name, s.key, s.name)
		}
		s.id = id
		at := 0
		if s == end {
			at = len(word.IDs) - 1
		}
		s.exists = ok && len(word.IDs) > 0 && word.IDs[at] == id
		if s.exists {
			existing++
		}
		missing = missing || (s.add && !s.exists)
	}
	if !missing {
		return nil, nil
	}
	if len(empty.IDs) != existing {
		return nil, fmt.Errorf("%s: add_bos_token %t and add_eos_token %t do not fit the post_processor, "+
			"which adds the tokens %v", name, c.AddBegin, c.AddEnd, empty.IDs)
	}
	return templateProcessing(begin, end), nil
}

// addedIDs returns the ids of the added tokens by name.
func (f *folder) addedIDs() (map[string]int32, error) {
	var file struct {
		Tokens []struct {
			ID      int32  `json:"id"`
			Content string `json:"content"`
		} `json:"added_tokens"`
	}
	_, err := f.readJSON("tokenizer.json", &file)
	ids := map[string]int32{}
	for _, token := range file.Tokens {
		ids[token.Content] = token.ID
	}
	return ids, err
}

// templateProcessing returns a TemplateProcessing that puts special tokens around each of one or two texts.
func templateProcessing(begin, end *special) any {
	type object = map[string]any
	tokens := object{}
	piece := func(s *special, typeID int) []any {
		if !s.add && !s.exists {
			return nil
		}
		name := string(s.name)
		tokens[name] = object{"id": name, "ids": []int32{s.id}, "tokens": []string{name}}
		return []any{object{"SpecialToken": object{"id": name, "type_id": typeID}}}
	}
	text := func(id string, typeID int) []any {
		return slices.Concat(piece(begin, typeID),
			[]any{object{"Sequence": object{"id": id, "type_id": typeID}}}, piece(end, typeID))
	}
	return object{
		"type": "TemplateProcessing", "single": text("A", 0),
		"pair": slices.Concat(text("A", 0), text("B", 1)), "special_tokens": tokens,
	}
}
