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

func parseBPE(raw json.RawMessage, byteLevel bool) (model, error) {
	var c struct {
		head
		Dropout      *float64         `json:"dropout,omitempty"`
		Unknown      *string          `json:"unk_token,omitempty"`
		Prefix       *string          `json:"continuing_subword_prefix,omitempty"`
		Suffix       *string          `json:"end_of_word_suffix,omitempty"`
		FuseUnknown  bool             `json:"fuse_unk,omitempty"`
		Fallback     bool             `json:"byte_fallback,omitempty"`
		IgnoreMerges bool             `json:"ignore_merges,omitempty"`
		Vocab        map[string]int32 `json:"vocab"`
		Merges       []mergeRule      `json:"merges"`
	}
	if err := strict(raw, &c); err != nil {
		return nil, err
	}
	switch {
	case c.Dropout != nil && *c.Dropout != 0:
		return nil, fmt.Errorf("BPE: dropout %v is not known: encoding would be random", *c.Dropout)
	case c.Prefix != nil && *c.Prefix != "":
		return nil, fmt.Errorf("BPE: continuing_subword_prefix %q is not known", *c.Prefix)
	case c.Suffix != nil && *c.Suffix != "":
		return nil, fmt.Errorf("BPE: end_of_word_suffix %q is not known", *c.Suffix)
	}
	v, err := newVocabulary(c.Vocab)
	if err != nil {
		return nil, err
	}
	m, err := newBPE(v, c.Merges, byteLevel)
	if err != nil {
		return nil, err
	}
	m.fuseUnknown = c.FuseUnknown
	m.ignoreMerges = c.IgnoreMerges
	if c.Fallback {
		m.fallback = v.fallback()
	}
	if c.Unknown != nil {
		id, ok := v.id(*c.Unknown)
		if !ok {
			return nil, fmt.Errorf("BPE: unk_token %q is not in the vocabulary", *c.Unknown)
		}
		m.unknown = id
	}
	return m, nil
}

// mergeRule is a merge, written "a b" or ["a", "b"].
type mergeRule struct{ left, right string }

func (r *mergeRule) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '[' {
		return fixed(b, &r.left, &r.right)
	}
	var both string
	if err := json.Unmarshal(b, &both); err != nil {
		return err
	}
	var ok bool
	if r.left, r.right, ok = strings.Cut(both, " "); !ok || strings.Contains(r.right, " ") {
		return fmt.Errorf("merge %q is not two tokens", both)
	}
	return nil
}

// parseUnigram refuses a missing unk_id: the reference then fails on the first unknown character.
func parseUnigram(raw json.RawMessage) (model, error) {
	var c struct {
		head
		Unknown  *int32      `json:"unk_id"`
		Vocab    []scoredRow `json:"vocab"`
		Fallback bool        `json:"byte_fallback,omitempty"`
	}
	if err := strict(raw, &c); err != nil {
		return nil, err
	}
	if c.Unknown == nil || len(c.Vocab) == 0 {
		return nil, errors.New("Unigram: unk_id is null, or the vocabulary is empty")
	}
	tokens := make([]string, len(c.Vocab))
	scores := make([]float64, len(c.Vocab))
	for i, row := range c.Vocab {
		tokens[i], scores[i] = row.token, row.score
	}
	m, err := newUnigram(tokens, scores, *c.Unknown)
	if err != nil {
		return nil, err
	}
	if c.Fallback {
		m.fallback = m.vocabulary.fallback()
	}
	return m, nil
}

// scoredRow is a token and its log-probability, written ["a", -1.5].
type scoredRow struct {
	token string
	score float64
}

func (r *scoredRow) UnmarshalJSON(b []byte) error {
	var number json.Number
	if err := fixed(b, &r.token, &number); err != nil {
		return err
	}
	var err error
	r.score, err = parseScore(number.String())
	return err
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
