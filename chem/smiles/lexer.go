// Package smiles splits the text of SMILES (https://www.daylight.com/dayhtml/doc/theory/theory.smiles.html, with
// RDKit's extensions) and of SAFE, which has the same tokens. It is the only lexer of these texts: [Tokens] splits a
// text, and the other functions are built on it. It knows no chemistry and needs no C++. RDKit decides in package chem
// whether a text is a molecule.
//
// Terms:
//
//   - ring closure: a number that occurs at two atoms and bonds them
//   - attachment: a number in angle brackets, which bonds fragments in the bracket form of SAFE
//   - dummy: the atom "*", with or without an isotope
package smiles

import (
	"iter"
	"strconv"
	"strings"
)

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	Atom       Kind = iota // C, Cl, c, *, or a bracket atom such as [nH]
	Bond                   // - = # $ : ~ / \ and the dative bonds -> and <-
	Ring                   // the number of a ring closure: 1, %12, %(123)
	Attachment             // a bond between fragments in the bracket form of SAFE: <1>, <%12>, <%(123)>
	Open                   // ( starts a branch
	Close                  // ) ends it
	Dot                    // . separates molecules, or fragments of SAFE
	Other                  // a byte that starts no other token
)

// Token is a part of a text. Start and End are byte offsets, End exclusive.
type Token struct {
	Kind       Kind
	Start, End int
	Number     int // of a Ring or an Attachment
}

// In returns the text of the token.
func (t Token) In(text string) string { return text[t.Start:t.End] }

// Tokens splits any text. Every byte belongs to exactly one token; each byte that is not SMILES is a token of the kind
// Other. An unclosed bracket is an Atom of one byte, and the text after it is split as if outside of brackets.
func Tokens(text string) iter.Seq[Token] {
	return func(yield func(Token) bool) {
		lastClose := strings.LastIndexByte(text, ']')
		for at := 0; at < len(text); {
			t := next(text, at, lastClose)
			if !yield(t) {
				return
			}
			at = t.End
		}
	}
}

// Next returns the token that starts at byte at, which must be within the text.
func Next(text string, at int) Token { return next(text, at, len(text)) }

// next returns the token that starts at byte at. lastClose is an upper bound of the position of the last closing
// bracket. No bracket atom is searched for after it, so that splitting takes linear time.
func next(text string, at, lastClose int) Token {
	rest := text[at:]
	token := func(kind Kind, length int) Token { return Token{Kind: kind, Start: at, End: at + length} }
	switch c := rest[0]; {
	case c == '[' && at > lastClose:
		return token(Atom, 1)
	case c == '[':
		return token(Atom, max(1, strings.IndexByte(rest, ']')+1))
	case strings.HasPrefix(rest, "Cl"), strings.HasPrefix(rest, "Br"):
		return token(Atom, 2)
	case strings.IndexByte("BCNOPSFIbcnops*", c) >= 0:
		return token(Atom, 1)
	case strings.HasPrefix(rest, "->"), strings.HasPrefix(rest, "<-"):
		return token(Bond, 2)
	case strings.IndexByte(`-=#$:~/\`, c) >= 0:
		return token(Bond, 1)
	case c == '(':
		return token(Open, 1)
	case c == ')':
		return token(Close, 1)
	case c == '.':
		return token(Dot, 1)
	}
	if number, length := ringNumber(rest); length > 0 {
		return Token{Kind: Ring, Start: at, End: at + length, Number: number}
	}
	if number, length := attachment(rest); length > 0 {
		return Token{Kind: Attachment, Start: at, End: at + length, Number: number}
	}
	return token(Other, 1)
}

// ringNumber reads a ring closure number at the start of a text: 1, %12 or %(123), with up to five digits as in RDKit.
// The length is 0 if there is none.
func ringNumber(text string) (number, length int) {
	if digits(text) > 0 {
		return int(text[0] - '0'), 1
	}
	if !strings.HasPrefix(text, "%") {
		return 0, 0
	}
	if inside, ok := strings.CutPrefix(text[1:], "("); ok {
		return enclosed(inside, ')', 2)
	}
	if digits(text[1:]) >= 2 {
		number, _ = strconv.Atoi(text[1:3])
		return number, 3
	}
	return 0, 0
}

// attachment reads an attachment at the start of a text. The length is 0 if there is none.
func attachment(text string) (number, length int) {
	inside, ok := strings.CutPrefix(text, "<")
	if !ok {
		return 0, 0
	}
	if number, length = enclosed(inside, '>', 1); length > 0 {
		return number, length
	}
	number, length = ringNumber(inside)
	if length > 1 && strings.HasPrefix(inside[length:], ">") {
		return number, length + 2
	}
	return 0, 0
}

// maxDigits is the upper bound of the digits of a ring number in RDKit.
const maxDigits = 5

// enclosed reads one to five digits and the byte end after them. The length includes both and the bytes before the
// digits.
func enclosed(text string, end byte, before int) (number, length int) {
	n := digits(text)
	if n == 0 || n > maxDigits || n == len(text) || text[n] != end {
		return 0, 0
	}
	number, _ = strconv.Atoi(text[:n])
	return number, before + n + 1
}

// digits counts the digits at the start of a text, up to maxDigits+1.
func digits(text string) int {
	n := 0
	for n < min(len(text), maxDigits+1) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	return n
}
