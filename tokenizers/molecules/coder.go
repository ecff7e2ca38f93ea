package molecules

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"retort/chem/smiles"
)

// TokenError says which part of a molecule's text a model cannot read.
type TokenError struct {
	Token    string // the token, or the character that begins none
	Position int    // its byte offset
	Known    bool   // it is a token, but not one of the vocabulary
}

func (e *TokenError) Error() string {
	if e.Known {
		return fmt.Sprintf("token %q at position %d is not in the model's vocabulary", e.Token, e.Position+1)
	}
	return fmt.Sprintf("%q at position %d begins no token", e.Token, e.Position+1)
}

// coder is what the two tokenizers share: cutting a text between its smallest parts, looking runs of parts up, and the
// way back.
type coder struct {
	*Vocabulary
	attachments bool  // <n>, an attachment in the bracket form of SAFE, is a part
	special     int32 // the one special token that may stand in a text, or absentID
	longest     int   // parts in the longest run of the vocabulary; 1 where there are no runs
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

// cuts are the byte offsets between the parts of a text, its start and its end among them. The error is a
// [*TokenError].
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

// outsideBrackets are the characters that the usual regular expression for SMILES tokens (Schwaller et al. 2018,
// doi:10.1039/C8SC02339E) takes one by one, though SMILES has them only within bracket atoms, or in reactions.
const outsideBrackets = "+@?>"

// endOfPart is where the part that begins at byte at ends; at itself where none begins there. Parts are the tokens of
// SMILES, as that regular expression has them: a dative bond is the two characters it is written with.
func (c coder) endOfPart(text string, at int) int {
	t := smiles.Next(text, at)
	none := false
	switch t.Kind {
	case smiles.Atom:
		none = text[at] == '[' && t.End-at < len("[C]") // not closed, or nothing inside
	case smiles.Bond:
		none = text[at] == '<'
		t.End = at + 1
	case smiles.Attachment:
		none = !c.attachments
	case smiles.Other:
		none = strings.IndexByte(outsideBrackets, text[at]) < 0
	}
	if none {
		return at
	}
	return t.End
}

// run looks up the parts between two cuts.
func (c coder) run(text string, cuts []int, first, end int) (id int32, known bool) {
	id, known = c.ids[text[cuts[first]:cuts[end]]]
	return id, known
}

// single looks one part up. The error is a [*TokenError].
func (c coder) single(text string, cuts []int, at int) (int32, error) {
	id, known := c.run(text, cuts, at, at+1)
	if !known || c.isSpecial[id] && id != c.special {
		return 0, &TokenError{Token: text[cuts[at]:cuts[at+1]], Position: cuts[at], Known: true}
	}
	return id, nil
}

// Decode gives the text of ids up to the first [EOS]. Other special tokens are passed over; an id outside the
// vocabulary is an error.
func (c coder) Decode(ids []int32) (string, error) {
	var text strings.Builder
	for i, id := range ids {
		switch {
		case id < 0 || int(id) >= len(c.tokens):
			return "", fmt.Errorf("id %d at place %d is outside the vocabulary of %d tokens", id, i, len(c.tokens))
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
