package tokenizers

import (
	"encoding/json"
	"errors"
	"strings"
)

// decoder is one step from the texts of tokens to the text they stand for: it rewrites the list, in place if it likes.
type decoder interface{ decode([]string) []string }

// Decode turns ids back into text; ids that are no token are passed over, and special tokens too when skipSpecial is
// set.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		s, ok := t.written(id)
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
func (t *Tokenizer) written(id int32) (string, bool) {
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
