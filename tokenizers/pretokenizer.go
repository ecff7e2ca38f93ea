package tokenizers

import (
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// parsePreTokenizer reads the pre-tokenizer, the stages that split the text into words. With byteLevel the model's
// vocabulary is in the byte-level alphabet.
func parsePreTokenizer(raw json.RawMessage) (stages []stage, byteLevel bool, err error) {
	if stages, err = parseSplits(raw); err != nil {
		return nil, false, err
	}
	for i, st := range stages {
		switch st := st.(type) {
		case *metaspace:
			if st.first && i > 0 {
				return nil, false, errors.New("Metaspace with prepend_scheme first is not the first of its Sequence")
			}
		case *byteLevelSplit:
			if i+1 < len(stages) {
				return nil, false, errors.New("ByteLevel is not the last of its Sequence")
			}
			byteLevel = true
		}
	}
	return stages, byteLevel, nil
}

func parseSplits(raw json.RawMessage) ([]stage, error) {
	if isAbsent(raw) {
		return nil, nil
	}
	name, err := componentType(raw)
	if err != nil {
		return nil, err
	}
	switch name {
	case "Sequence":
		return parseSequence(raw, "pretokenizers", parseSplits)
	case "BertPreTokenizer":
		return []stage{bertSplit{}}, decodeComponent(raw, &component{})
	case "WhitespaceSplit":
		return []stage{&propertySplit{property: isWhitespace, behavior: removed}}, decodeComponent(raw, &component{})
	case "Whitespace":
		return []stage{wordSplit{}}, decodeComponent(raw, &component{})
	case "Punctuation":
		return parsePunctuation(raw)
	case "Digits":
		return parseDigits(raw)
	case "Split":
		return parseSplit(raw)
	case "Metaspace":
		m, err := parseMetaspace(raw)
		return []stage{m}, err
	case "ByteLevel":
		s := &byteLevelSplit{Regex: true}
		return []stage{s}, decodeComponent(raw, s)
	}
	return nil, unsupported(name)
}

func parsePunctuation(raw json.RawMessage) ([]stage, error) {
	c := struct {
		component
		How behavior `json:"behavior,omitempty"`
	}{How: isolated}
	err := decodeComponent(raw, &c)
	return []stage{&propertySplit{property: isPunctuation, behavior: c.How}}, err
}

func parseDigits(raw json.RawMessage) ([]stage, error) {
	var c struct {
		component
		Individual bool `json:"individual_digits"`
	}
	err := decodeComponent(raw, &c)
	how := contiguous
	if c.Individual {
		how = isolated
	}
	return []stage{&propertySplit{property: isDigit, behavior: how}}, err
}

// parseSplit supports the patterns of [gptPatterns], whose matches cover the text, safePattern, and single texts.
func parseSplit(raw json.RawMessage) ([]stage, error) {
	var c struct {
		component
		Pattern pattern  `json:"pattern"`
		How     behavior `json:"behavior"`
		Invert  bool     `json:"invert"`
	}
	if err := decodeComponent(raw, &c); err != nil {
		return nil, err
	}
	switch {
	case c.Pattern.String != nil && *c.Pattern.String != "":
		return []stage{&textSplit{text: *c.Pattern.String, how: c.How, invert: c.Invert}}, nil
	case c.Pattern.Regex == nil:
		return nil, errors.New("Split: pattern is empty")
	case *c.Pattern.Regex == safePattern && c.How == removed && c.Invert:
		return []stage{safeSplit{}}, nil
	}
	match, ok := gptPatterns[*c.Pattern.Regex]
	if !ok {
		return nil, fmt.Errorf("Split: regular expression %q is not supported", *c.Pattern.Regex)
	}
	if !(c.How == isolated || c.How == removed && c.Invert) {
		return nil, fmt.Errorf("Split: behavior %s with invert %t is not supported for %q",
			c.How, c.Invert, *c.Pattern.Regex)
	}
	return []stage{match}, nil
}

// parseMetaspace reads a Metaspace. Old files say add_prefix_space, which means always or never.
func parseMetaspace(raw json.RawMessage) (*metaspace, error) {
	c := struct {
		component
		Replacement string `json:"replacement"`
		StrRep      string `json:"str_rep,omitempty"`
		Prefix      *bool  `json:"add_prefix_space,omitempty"`
		Scheme      string `json:"prepend_scheme,omitempty"`
		Split       *bool  `json:"split,omitempty"`
	}{Scheme: "always"}
	if err := decodeComponent(raw, &c); err != nil {
		return nil, err
	}
	m := &metaspace{replacement: c.Replacement, words: c.Split == nil || *c.Split}
	if utf8.RuneCountInString(c.Replacement) != 1 {
		return nil, fmt.Errorf("Metaspace: replacement %q is not one character", c.Replacement)
	}
	if c.Prefix != nil && !*c.Prefix {
		return m, nil
	}
	switch c.Scheme {
	case "always":
		m.always = true
	case "first":
		m.first = true
	case "never":
	default:
		return nil, fmt.Errorf("Metaspace: prepend_scheme %q is not supported", c.Scheme)
	}
	return m, nil
}

// behavior is what happens to delimiters.
type behavior string

const (
	removed            behavior = "Removed"
	isolated           behavior = "Isolated"
	contiguous         behavior = "Contiguous"
	mergedWithPrevious behavior = "MergedWithPrevious"
	mergedWithNext     behavior = "MergedWithNext"
)

func (b *behavior) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	*b = behavior(s)
	switch *b {
	case removed, isolated, contiguous, mergedWithPrevious, mergedWithNext:
		return nil
	}
	return fmt.Errorf("behavior %q is not supported", s)
}
