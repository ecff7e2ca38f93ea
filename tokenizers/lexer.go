package tokenizers

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// TokenError says which part of a molecule's text a model cannot read.
type TokenError struct {
	Token    string // the token, or the character that begins none
	Position int    // bytes before it
	Known    bool   // it is a token, but not one of the vocabulary
}

func (e *TokenError) Error() string {
	if e.Known {
		return fmt.Sprintf("token %q at position %d is not in the model's vocabulary", e.Token, e.Position+1)
	}
	return fmt.Sprintf("%q at position %d begins no token", e.Token, e.Position+1)
}

// oneCharacter holds the tokens of one character: the organic subset, bonds, branches, the dot, the wildcard and ring digits.
const oneCharacter = "BCNOSPFIbcnosp().=#-+\\/:~@?>*$0123456789"

// lexeme is the length of the SMILES token at the start of s, or 0. Tokens are those of the usual regular expression
// (Schwaller et al. 2018, doi:10.1039/C8SC02339E): a bracket atom whole, Br and Cl, %dd, and single characters; besides
// them %(ddd), as OpenSMILES writes ring numbers above 99. With angles, <n> too: an attachment point in the bracket form of SAFE.
func lexeme(s string, angles bool) int {
	switch {
	case s[0] == '[':
		if end := strings.IndexByte(s, ']'); end > 1 {
			return end + 1
		}
		return 0
	case strings.HasPrefix(s, "Br") || strings.HasPrefix(s, "Cl"):
		return 2
	case strings.HasPrefix(s, "%("):
		return enclosed(s[1:], ')', 1)
	case s[0] == '%':
		if digits(s[1:]) >= 2 {
			return 3
		}
		return 0
	case angles && s[0] == '<':
		return enclosed(s, '>', 0)
	case strings.IndexByte(oneCharacter, s[0]) >= 0:
		return 1
	}
	return 0
}

// enclosed is the length of an opening sign, digits and the closing sign, and of what stands before them; 0 if it is not that.
func enclosed(s string, closing byte, before int) int {
	n := digits(s[1:])
	if n == 0 || 1+n >= len(s) || s[1+n] != closing {
		return 0
	}
	return before + n + 2
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// lexer looks the tokens of a text up. A vocabulary may hold runs of several simple tokens too: a text is cut from left to
// right into the longest tokens of the vocabulary, always between simple tokens.
type lexer struct {
	*Vocabulary
	angles  bool  // <n> is a token
	special int32 // the one special token that may stand in a text, or absentID
	longest int   // simple tokens in the longest run of the vocabulary; 1 where there is none
}

// newLexer counts the simple tokens of the vocabulary's runs.
func newLexer(v *Vocabulary, angles bool, special int32) lexer {
	l := lexer{Vocabulary: v, angles: angles, special: special, longest: 1}
	for id, token := range v.tokens {
		if v.isSpecial[id] {
			continue
		}
		if cuts, err := l.cuts(token); err == nil {
			l.longest = max(l.longest, len(cuts)-1)
		}
	}
	return l
}

// cuts are the places between the simple tokens of a text, its start and its end among them. The error is a [*TokenError].
func (l lexer) cuts(text string) ([]int, error) {
	cuts := make([]int, 1, len(text)+1)
	for at := 0; at < len(text); {
		n := lexeme(text[at:], l.angles)
		if n == 0 {
			_, size := utf8.DecodeRuneInString(text[at:])
			return nil, &TokenError{Token: text[at : at+size], Position: at}
		}
		at += n
		cuts = append(cuts, at)
	}
	return cuts, nil
}

// Encode gives the ids of a text, without [BOS] and [EOS]. The error is a [*TokenError].
func (l lexer) Encode(text string) ([]int32, error) {
	cuts, err := l.cuts(text)
	if err != nil {
		return nil, err
	}
	ids := make([]int32, 0, len(cuts))
	for first, last := 0, len(cuts)-1; first < last; {
		end := min(first+l.longest, last)
		id, ok := l.ids[text[cuts[first]:cuts[end]]]
		for !ok && end > first+1 {
			end--
			id, ok = l.ids[text[cuts[first]:cuts[end]]]
		}
		if !ok || l.isSpecial[id] && id != l.special {
			return nil, &TokenError{Token: text[cuts[first]:cuts[end]], Position: cuts[first], Known: true}
		}
		ids = append(ids, id)
		first = end
	}
	return ids, nil
}

// Decode gives the text of ids up to the first [EOS]. Other special tokens are passed over; an id outside the vocabulary
// is an error.
func (l lexer) Decode(ids []int32) (string, error) {
	var text strings.Builder
	for i, id := range ids {
		switch {
		case id < 0 || int(id) >= len(l.tokens):
			return "", fmt.Errorf("id %d at place %d is outside the vocabulary of %d tokens", id, i, len(l.tokens))
		case id == l.EOS:
			return text.String(), nil
		case !l.isSpecial[id]:
			text.WriteString(l.tokens[id])
		}
	}
	return text.String(), nil
}

// Frame puts ids between [BOS] and [EOS].
func (l lexer) Frame(ids []int32) []int32 {
	out := make([]int32, 0, len(ids)+2)
	return append(append(append(out, l.BOS), ids...), l.EOS)
}
