package chem

import (
	"iter"
	"strconv"
	"strings"
)

// tokenKind is what a piece of SMILES is.
type tokenKind uint8

const (
	atomToken  tokenKind = iota // C, Cl, c, *, or a bracket atom
	bondToken                   // - = # $ : ~ / \ -> <-
	ringToken                   // 1, %12, %(123)
	openToken                   // (
	closeToken                  // )
	dotToken                    // .
	otherToken                  // anything else
)

// token is a piece of SMILES: text[at:end].
type token struct {
	kind    tokenKind
	at, end int
	ring    int // the number of a ringToken
}

// tokens splits SMILES without judging it. Every byte belongs to exactly one token, so that the
// counts made from it are never too low.
func tokens(text string) iter.Seq[token] {
	return func(yield func(token) bool) {
		for at := 0; at < len(text); {
			t := nextToken(text, at)
			if !yield(t) {
				return
			}
			at = t.end
		}
	}
}

func nextToken(text string, at int) token {
	one := func(kind tokenKind) token { return token{kind: kind, at: at, end: at + 1} }
	rest := text[at:]
	switch c := rest[0]; {
	case c == '[':
		if end := strings.IndexByte(rest, ']'); end > 0 {
			return token{kind: atomToken, at: at, end: at + end + 1}
		}
		return one(atomToken) // unclosed; what follows is counted as it stands
	case strings.HasPrefix(rest, "Cl"), strings.HasPrefix(rest, "Br"):
		return token{kind: atomToken, at: at, end: at + 2}
	case strings.IndexByte("BCNOPSFIbcnops*", c) >= 0:
		return one(atomToken)
	case c >= '0' && c <= '9':
		return token{kind: ringToken, at: at, end: at + 1, ring: int(c - '0')}
	case c == '%':
		return percentToken(text, at)
	case strings.HasPrefix(rest, "->"), strings.HasPrefix(rest, "<-"):
		return token{kind: bondToken, at: at, end: at + 2}
	case strings.IndexByte(`-=#$:~/\`, c) >= 0:
		return one(bondToken)
	case c == '(':
		return one(openToken)
	case c == ')':
		return one(closeToken)
	case c == '.':
		return one(dotToken)
	}
	return one(otherToken)
}

// percentToken reads %dd and %(ddd), which RDKit allows up to five digits.
func percentToken(text string, at int) token {
	rest := text[at+1:]
	if len(rest) >= 2 && digits(rest[:2]) {
		n, _ := strconv.Atoi(rest[:2])
		return token{kind: ringToken, at: at, end: at + 3, ring: n}
	}
	if strings.HasPrefix(rest, "(") {
		if end := strings.IndexByte(rest, ')'); end > 1 && end <= 6 && digits(rest[1:end]) {
			n, _ := strconv.Atoi(rest[1:end])
			return token{kind: ringToken, at: at, end: at + end + 2, ring: n}
		}
	}
	return token{kind: otherToken, at: at, end: at + 1}
}

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// atomAt returns where the n-th atom of a SMILES is written, and how.
func atomAt(text string, n int) (position int, symbol string) {
	for t := range tokens(text) {
		if t.kind != atomToken {
			continue
		}
		if n == 0 {
			return t.at, text[t.at:t.end]
		}
		n--
	}
	return -1, ""
}

// ringNumber writes a ring closure number: 5, %12, %(123).
func ringNumber(n int) string {
	switch {
	case n < 10:
		return strconv.Itoa(n)
	case n < 100:
		return "%" + strconv.Itoa(n)
	}
	return "%(" + strconv.Itoa(n) + ")"
}
