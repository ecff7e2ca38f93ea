package tokenizers

import (
	"encoding/json"
	"strings"
)

// decoder turns a list of token texts into one nearer to the text they stand for. It may change the list in place.
type decoder interface{ decode([]string) []string }

// Decode turns ids back into text; ids that are no token are passed over, and special tokens too when skipSpecial is set.
func (t *Tokenizer) Decode(ids []int32, skipSpecial bool) string {
	tokens := make([]string, 0, len(ids))
	for _, id := range ids {
		a := t.added[id]
		if a != nil && a.Special && skipSpecial {
			continue
		}
		if s, ok := t.Token(id); ok {
			tokens = append(tokens, s)
		}
	}
	if t.decoders == nil {
		return strings.Join(tokens, " ")
	}
	for _, d := range t.decoders {
		tokens = d.decode(tokens)
	}
	return strings.Join(tokens, "")
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
	case "WordPiece":
		d := &wordPieceDecoder{}
		return []decoder{d}, strict(raw, d)
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
