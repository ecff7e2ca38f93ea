package tokenizers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// file is a tokenizer.json. Truncation is ignored, and so is padding except its token: see the package comment.
type file struct {
	Version       string          `json:"version"`
	Truncation    json.RawMessage `json:"truncation"`
	Padding       json.RawMessage `json:"padding"`
	AddedTokens   []addedToken    `json:"added_tokens"`
	Normalizer    json.RawMessage `json:"normalizer"`
	PreTokenizer  json.RawMessage `json:"pre_tokenizer"`
	PostProcessor json.RawMessage `json:"post_processor"`
	Decoder       json.RawMessage `json:"decoder"`
	Model         json.RawMessage `json:"model"`
}

// parse reads the contents of a tokenizer.json.
func parse(data []byte) (*Tokenizer, error) {
	var f file
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		return nil, fmt.Errorf("tokenizer.json: %w", err)
	}
	if f.Version != "1.0" {
		return nil, fmt.Errorf("tokenizer.json: version %q is not supported", f.Version)
	}
	t := &Tokenizer{addedIDs: map[string]int32{}}
	t.names = sync.OnceValue(t.readNames)
	t.passes.New = func() any { return &pass{} }
	var byteLevel bool
	var err error
	if t.normalize, err = parseNormalizer(f.Normalizer); err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	if t.split, byteLevel, err = parsePreTokenizer(f.PreTokenizer); err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	if t.model, err = parseModel(f.Model, byteLevel); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if t.post, err = parsePostProcessor(f.PostProcessor); err != nil {
		return nil, fmt.Errorf("post_processor: %w", err)
	}
	if err := t.addTokens(f.AddedTokens); err != nil {
		return nil, err
	}
	t.pad = t.padding(f.Padding)
	t.decoder, t.decoderErr = parseDecoder(f.Decoder)
	return t, nil
}

// padding returns the token to pad with: see PadID.
func (t *Tokenizer) padding(section json.RawMessage) int32 {
	var p struct {
		ID *int32 `json:"pad_id"`
	}
	if json.Unmarshal(section, &p) == nil && p.ID != nil {
		return *p.ID
	}
	for _, name := range []string{"[PAD]", "<pad>"} {
		if id, ok := t.id(name); ok {
			return id
		}
	}
	return 0
}

// addTokens adds the added tokens. Each must have the id that the reference gives it: the id in the model's vocabulary
// if it is there, else the next free id.
func (t *Tokenizer) addTokens(list []addedToken) error {
	t.size = t.model.size()
	t.added = list
	seen := map[int32]bool{}
	var raw, normal []*addedToken
	for i := range list {
		a := &list[i]
		if a.Content == "" || seen[a.ID] {
			return fmt.Errorf("added_tokens: id %d is empty or appears twice", a.ID)
		}
		id, ok := t.model.id(a.Content)
		if !ok {
			id = int32(t.size)
			t.size++
		}
		if id != a.ID {
			return fmt.Errorf("added_tokens: %q has id %d, but its id in the vocabulary is %d", a.Content, a.ID, id)
		}
		seen[a.ID] = true
		t.addedIDs[a.Content] = a.ID
		a.form = a.Content
		if !a.Normalized {
			raw = append(raw, a)
			continue
		}
		normal = append(normal, a)
		if a.form = t.normalized(a.Content); a.form == "" {
			return fmt.Errorf("added_tokens: %q is empty after normalization", a.Content)
		}
	}
	var rawErr, normalErr error
	t.rawMatcher, rawErr = newMatcher(raw)
	t.normalizedMatcher, normalErr = newMatcher(normal)
	return errors.Join(rawErr, normalErr)
}

// normalized runs only the normalizer.
func (t *Tokenizer) normalized(s string) string {
	p := &pass{}
	p.load(s)
	for _, st := range t.normalize {
		st.apply(p)
	}
	return string(p.text)
}

// isAbsent reports whether a section is missing or null.
func isAbsent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// componentType returns the "type" of a component.
func componentType(raw json.RawMessage) (string, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return "", err
	}
	return head.Type, nil
}

// component has the member that all components have.
type component struct {
	Type string `json:"type,omitempty"`
}

// decodeComponent decodes a component into v, a pointer to a struct. Every member must have a field, and every field
// without omitempty a member.
func decodeComponent(raw json.RawMessage, v any) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return err
	}
	name := strings.Trim(string(members["type"]), `"`)
	var missing []string
	for _, field := range reflect.VisibleFields(reflect.TypeOf(v).Elem()) {
		member, option, _ := strings.Cut(field.Tag.Get("json"), ",")
		if _, ok := members[member]; member != "" && !ok && option != "omitempty" {
			missing = append(missing, member)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("%s: %s missing", name, strings.Join(missing, ", "))
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// parseSequence reads the components of a Sequence, which are in the given member, in order.
func parseSequence[T any](raw json.RawMessage, member string, parse func(json.RawMessage) ([]T, error)) ([]T, error) {
	parts, err := sequenceParts(raw, member)
	if err != nil {
		return nil, err
	}
	var all []T
	for _, part := range parts {
		components, err := parse(part)
		if err != nil {
			return nil, err
		}
		all = append(all, components...)
	}
	return all, nil
}

func sequenceParts(raw json.RawMessage, member string) (parts []json.RawMessage, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	for name := range members {
		if name != "type" && name != member {
			return nil, fmt.Errorf("Sequence: unknown field %q", name)
		}
	}
	if members[member] == nil {
		return nil, fmt.Errorf("Sequence: %s missing", member)
	}
	if err := json.Unmarshal(members[member], &parts); err != nil {
		return nil, fmt.Errorf("Sequence: %w", err)
	}
	return parts, nil
}

// unsupported returns the error for a component that this package does not support.
func unsupported(name string) error {
	if name == "" {
		return errors.New("component without a type")
	}
	return fmt.Errorf("component %s is not supported", name)
}
