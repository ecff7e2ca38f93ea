package molecules

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"retort/chem/smiles"
)

// TokenError reports the first part of a molecule's text that is not a token.
type TokenError struct {
	Token    string // the token, or a character at which no token starts
	Position int    // byte offset, from 0
	Known    bool   // a valid token that is not in the vocabulary
}

func (e *TokenError) Error() string {
	if e.Known {
		return fmt.Sprintf("token %q at position %d is not in the model's vocabulary", e.Token, e.Position+1)
	}
	return fmt.Sprintf("%q at position %d does not start a token", e.Token, e.Position+1)
}

// coder has what SMILES and SAFE share: splitting a text into parts, looking up runs of parts, and decoding.
type coder struct {
	*Vocabulary
	attachments bool  // <n>, an attachment in the bracket form of SAFE, is a part
	special     int32 // the special token that is allowed in a text, or absentID
	longest     int   // parts in the longest token of the vocabulary
}

func newCoder(v *Vocabulary, attachments bool, special int32) coder {
	c := coder{Vocabulary: v, attachments: attachments, special: special, longest: 1}
	for id, token := range v.tokens {
		if v.isSpecial[id] {
			continue
		}
		if cuts, err := c.cuts(token); err == nil {
			c.longest = max(c.longest, len(cuts)-1)
		}
	}
	return c
}

// cuts returns the byte offsets at which the parts of a text start, and its end. The error is a [*TokenError].
func (c coder) cuts(text string) ([]int, error) {
	cuts := make([]int, 1, len(text)+1)
	for at := 0; at < len(text); {
		end := c.endOfPart(text, at)
		if end == at {
			_, size := utf8.DecodeRuneInString(text[at:])
			return nil, &TokenError{Token: text[at : at+size], Position: at}
		}
		cuts = append(cuts, end)
		at = end
	}
	return cuts, nil
}

// outsideBrackets are characters that are tokens of the usual regular expression for SMILES (Schwaller et al. 2018,
// doi:10.1039/C8SC02339E), though SMILES has them only in bracket atoms or reactions.
const outsideBrackets = "+@?>"

// endOfPart returns the end of the part that starts at byte at, or at if none does. Parts are the matches of that
// regular expression, so a dative bond is two parts.
func (c coder) endOfPart(text string, at int) int {
	t := smiles.Next(text, at)
	invalid := false
	switch t.Kind {
	case smiles.Atom:
		invalid = text[at] == '[' && t.End-at < len("[C]") // not closed, or nothing inside
	case smiles.Bond:
		invalid = text[at] == '<'
		t.End = at + 1
	case smiles.Attachment:
		invalid = !c.attachments
	case smiles.Other:
		invalid = strings.IndexByte(outsideBrackets, text[at]) < 0
	}
	if invalid {
		return at
	}
	return t.End
}

// lookUp looks up the parts between two cuts.
func (c coder) lookUp(text string, cuts []int, first, end int) (id int32, ok bool) {
	id, ok = c.ids[text[cuts[first]:cuts[end]]]
	return id, ok
}

// lookUpPart looks up one part. The error is a [*TokenError].
func (c coder) lookUpPart(text string, cuts []int, at int) (int32, error) {
	id, ok := c.lookUp(text, cuts, at, at+1)
	if !ok || c.isSpecial[id] && id != c.special {
		return 0, &TokenError{Token: text[cuts[at]:cuts[at+1]], Position: cuts[at], Known: true}
	}
	return id, nil
}

// Decode returns the text of ids up to the first [EOS]. It skips other special tokens, and refuses an id outside the
// vocabulary.
func (c coder) Decode(ids []int32) (string, error) {
	var text strings.Builder
	for i, id := range ids {
		switch {
		case id < 0 || int(id) >= len(c.tokens):
			return "", fmt.Errorf("id %d at index %d is outside the vocabulary of %d tokens", id, i, len(c.tokens))
		case id == c.EOS:
			return text.String(), nil
		case !c.isSpecial[id]:
			text.WriteString(c.tokens[id])
		}
	}
	return text.String(), nil
}

// Frame puts ids between [BOS] and [EOS].
func (c coder) Frame(ids []int32) []int32 {
	framed := make([]int32, 0, len(ids)+2)
	framed = append(framed, c.BOS)
	framed = append(framed, ids...)
	return append(framed, c.EOS)
}
