package tokenizers

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder is one step from the texts of tokens to the text they stand for: it rewrites the list, in place if it likes.
type decoder interface{ decode([]string) []string }

// Decode turns ids back into text; ids that are no token are passed over, and special tokens too when skipSpecial is
// set.
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

// written is a token as the first decoder gets it. An added token comes in the form in which it is searched for in
// texts.
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
		var c struct {
			head
			Parts []json.RawMessage `json:"decoders"`
		}
		if err := strict(raw, &c); err != nil {
			return nil, err
		}
		return inOrder(c.Parts, parseDecoder)
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
			err = errors.New("Replace: a regular expression is not known in a decoder")
		}
		return []decoder{&replaceDecoder{r}}, err
	}
	return nil, unknown(name)
}

// wordPieceDecoder joins the pieces of words and puts spaces between words.
type wordPieceDecoder struct {
	head
	Prefix  string `json:"prefix"`
	Cleanup bool   `json:"cleanup"` // take out the spaces before punctuation and in English contractions
}

func (d *wordPieceDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		if i > 0 {
			if rest, ok := strings.CutPrefix(t, d.Prefix); ok {
				t = rest
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

// cleanup makes the replacements one after the other, each over the whole text, as the reference does.
func cleanup(s string) string {
	for _, r := range [][2]string{{" .", "."}, {" ?", "?"}, {" !", "!"}, {" ,", ","}, {" ' ", "'"}, {" n't", "n't"}, {" 'm", "'m"},
		{" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}} {
		s = strings.ReplaceAll(s, r[0], r[1])
	}
	return s
}

// byteFallbackDecoder puts runs of <0x..> tokens together; a run that is not UTF-8 becomes as many U+FFFD.
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

// fuseDecoder makes one text of all tokens.
type fuseDecoder struct{}

func (fuseDecoder) decode(tokens []string) []string { return []string{strings.Join(tokens, "")} }

// stripDecoder takes at most so many of a character off each end of every token.
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

// metaspaceDecoder writes the visible character as a space, and leaves it out of the first token where it was put in
// front.
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

// replaceDecoder puts one text in the place of another in every token.
type replaceDecoder struct{ *replace }

func (d *replaceDecoder) decode(tokens []string) []string {
	for i, t := range tokens {
		tokens[i] = strings.ReplaceAll(t, d.old, d.content)
	}
	return tokens
}
