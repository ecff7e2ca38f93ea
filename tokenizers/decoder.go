package tokenizers

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder is a step from tokens to text. It returns the rewritten list, which may use the memory of the old one.
type decoder interface{ decode([]string) []string }

// Decode returns the text of ids. It skips ids that are not tokens, and with skipSpecial also special tokens.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		s, ok := t.decoderInput(id)
		if !ok || skipSpecial && t.specials[s] {
			continue
		}
		tokens = append(tokens, s)
	}
	if t.decoders == nil {
		return strings.Join(tokens, " ")
	}
	for _, d := range t.decoders {
		tokens = d.decode(tokens)
	}
	return strings.Join(tokens, "")
}

// decoderInput returns a token as the first decoder receives it: an added token in the form that is searched for.
func (t *Tokenizer) decoderInput(id int32) (string, bool) {
	if form, ok := t.forms[id]; ok {
		return form, true
	}
	return t.model.token(id)
}

// parseDecoder reads the decoder.
func parseDecoder(raw json.RawMessage) ([]decoder, error) {
	if absent(raw) {
		return nil, nil
	}
	name, err := kind(raw)
	if err != nil {
		return nil, err
	}
	switch name {
	case "Sequence":
		return parseSequence(raw, "decoders", parseDecoder)
	case "WordPiece":
		d := &wordPieceDecoder{}
		return []decoder{d}, strict(raw, d)
	case "ByteLevel":
		return []decoder{byteLevelDecoder{}}, strict(raw, &byteLevelSplit{})
	case "ByteFallback":
		return []decoder{byteFallbackDecoder{}}, strict(raw, &head{})
	case "Fuse":
		return []decoder{fuseDecoder{}}, strict(raw, &head{})
	case "Strip":
		d := &stripDecoder{}
		return []decoder{d}, strict(raw, d)
	case "Metaspace":
		m, err := parseMetaspace(raw)
		return []decoder{&metaspaceDecoder{m.replacement, m.always || m.first}}, err
	case "Replace":
		r, err := parseReplace(raw)
		if err == nil && r.spaces {
			err = errors.New("Replace: a regular expression is not supported in a decoder")
		}
		return []decoder{&replaceDecoder{r}}, err
	}
	return nil, unsupported(name)
}

// wordPieceDecoder joins the tokens of a word and puts spaces between words.
type wordPieceDecoder struct {
	head
	Prefix  string `json:"prefix"`
	Cleanup bool   `json:"cleanup"` // remove spaces before punctuation and in English contractions
}

func (d *wordPieceDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		if i > 0 {
			if suffix, ok := strings.CutPrefix(t, d.Prefix); ok {
				t = suffix
			} else {
				t = " " + t
			}
		}
		if d.Cleanup {
			t = cleanup(t)
		}
		tokens[i] = t
	}
	return tokens
}

// cleanup applies the replacements in order, each to the whole text, as the reference does.
func cleanup(s string) string {
	for _, r := range [][2]string{
		{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"},
		{" n't", "n't"}, {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"},
	} {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}

// byteFallbackDecoder decodes runs of <0x..> tokens. In a run that is not UTF-8, every byte becomes U+FFFD.
type byteFallbackDecoder struct{}

func (byteFallbackDecoder) decode(tokens []string) []string {
	var out []string
	var run []byte
	flush := func() {
		switch {
		case len(run) == 0:
		case utf8.Valid(run):
			out = append(out, string(run))
		default:
			out = append(out, strings.Repeat("\uFFFD", len(run)))
		}
		run = run[:0]
	}
	for _, t := range tokens {
		if len(t) == 6 && strings.HasPrefix(t, "<0x") && t[5] == '>' {
			if c, err := strconv.ParseUint(t[3:5], 16, 8); err == nil {
				run = append(run, byte(c))
				continue
			}
		}
		flush()
		out = append(out, t)
	}
	flush()
	return out
}

// fuseDecoder joins all tokens.
type fuseDecoder struct{}

func (fuseDecoder) decode(tokens []string) []string { return []string{strings.Join(tokens, "")} }

// stripDecoder removes a character from both ends of every token, at most Start and Stop times.
type stripDecoder struct {
	head
	Content string `json:"content"`
	Start   int    `json:"start"`
	Stop    int    `json:"stop"`
}

func (d *stripDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		for range d.Start {
			t = strings.TrimPrefix(t, d.Content)
		}
		for range d.Stop {
			t = strings.TrimSuffix(t, d.Content)
		}
		tokens[i] = t
	}
	return tokens
}

// metaspaceDecoder replaces the visible character with a space, or in the first token with nothing if the pre-tokenizer
// adds it there.
type metaspaceDecoder struct {
	replacement string
	prefixed    bool
}

func (d *metaspaceDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		to := " "
		if i == 0 && d.prefixed {
			to = ""
		}
		tokens[i] = strings.ReplaceAll(t, d.replacement, to)
	}
	return tokens
}

// replaceDecoder replaces a text in every token.
type replaceDecoder struct{ *replace }

func (d *replaceDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(t, d.old, d.content)
	}
	return tokens
}
