package chem

import (
	"fmt"
	"regexp"
)

// bracketAtom is the inside of a bracket atom as RDKit reads it: isotope, element, chirality,
// hydrogens, charge, atom map. Elements are checked against the list below.
var bracketAtom = regexp.MustCompile(
	`^\d*(?:([A-Z][a-z]?|[a-z]{1,2}|\*)|#\d+)` +
		`(?:@(?:@|TH[12]|AL[12]|SP[123]|TB\d{1,2}|OH\d{1,2})?)?` +
		`(?:H\d*)?(?:\+\+|--|[+-]\d*)?(?::\d+)?$`)

var aromaticElements = map[string]bool{
	"b": true, "c": true, "n": true, "o": true, "p": true, "s": true,
	"as": true, "se": true, "te": true, "si": true,
}

var elements = func() map[string]bool {
	known := map[string]bool{"*": true}
	for _, e := range regexp.MustCompile(`[A-Z][a-z]?`).FindAllString(
		"HHeLiBeBCNOFNeNaMgAlSiPSClArKCaScTiVCrMnFeCoNiCuZnGaGeAsSeBrKrRbSrYZrNbMoTcRuRhPdAgCdIn"+
			"SnSbTeIXeCsBaLaCePrNdPmSmEuGdTbDyHoErTmYbLuHfTaWReOsIrPtAuHgTlPbBiPoAtRnFrRaAcThPaUNpPu"+
			"AmCmBkCfEsFmMdNoLrRfDbSgBhHsMtDsRgCnNhFlMcLvTsOg", -1) {
		known[e] = true
	}
	return known
}()

// locate finds the first thing wrong in a SMILES that RDKit refused for its syntax. RDKit does not
// say where; this follows its grammar, and is asked only after a refusal, so it can never refuse
// what RDKit accepts.
func locate(text string) (position int, reason string) {
	r := reader{text: text, rings: map[int]ringEnd{}, bonded: map[[2]int]bool{}, last: -1}
	for t := range tokens(text) {
		if reason := r.read(t); reason != "" {
			return t.at, reason
		}
		r.before = t
	}
	return r.finish()
}

type ringEnd struct{ atom, at int }

// reader is the state of reading a SMILES from left to right.
type reader struct {
	text    string
	before  token // the token before; end == 0 at the start
	atoms   int
	last    int      // the atom a bond would start from
	opened  [][2]int // of each open branch: position, atom to return to
	rings   map[int]ringEnd
	bonded  map[[2]int]bool
	pending bool // the token before was a bond
}

func (r *reader) read(t token) string {
	started := r.before.end > 0
	pending, afterOpen := r.pending, started && r.before.kind == openToken
	afterDot := started && r.before.kind == dotToken
	r.pending = false
	switch t.kind {
	case atomToken:
		return r.atom(t, afterDot)
	case bondToken:
		if !started || pending || afterDot {
			return "a bond without an atom before it"
		}
		r.pending = true
	case ringToken:
		if !started || afterOpen || afterDot || r.before.kind == closeToken && pending {
			return "a ring closure without an atom before it"
		}
		return r.ring(t)
	case openToken:
		if !started || pending || afterOpen || afterDot {
			return "a branch without an atom before it"
		}
		r.opened = append(r.opened, [2]int{t.at, r.last})
	case closeToken:
		return r.close(pending, afterOpen, afterDot)
	case dotToken:
		if !started || pending || afterOpen || afterDot {
			return "a dot without an atom before it"
		}
	default:
		return fmt.Sprintf("unexpected %q", r.text[t.at:t.end])
	}
	return ""
}

func (r *reader) atom(t token, afterDot bool) string {
	if r.text[t.at] == '[' {
		if r.text[t.end-1] != ']' {
			return "a bracket atom that is not closed"
		}
		inside := r.text[t.at+1 : t.end-1]
		m := bracketAtom.FindStringSubmatch(inside)
		if m == nil {
			return fmt.Sprintf("bad bracket atom %q", r.text[t.at:t.end])
		}
		if m[1] != "" && !elements[m[1]] && !aromaticElements[m[1]] {
			return fmt.Sprintf("unknown element %q", m[1])
		}
	}
	if r.last >= 0 && !afterDot {
		r.bonded[[2]int{r.last, r.atoms}] = true
	}
	r.last = r.atoms
	r.atoms++
	return ""
}

func (r *reader) ring(t token) string {
	begin, open := r.rings[t.ring]
	if !open {
		r.rings[t.ring] = ringEnd{r.last, t.at}
		return ""
	}
	delete(r.rings, t.ring)
	pair := [2]int{begin.atom, r.last}
	if begin.atom == r.last {
		return fmt.Sprintf("ring closure %d bonds an atom to itself", t.ring)
	}
	if r.bonded[pair] || r.bonded[[2]int{pair[1], pair[0]}] {
		return fmt.Sprintf("ring closure %d duplicates a bond", t.ring)
	}
	r.bonded[pair] = true
	return ""
}

func (r *reader) close(pending, afterOpen, afterDot bool) string {
	switch {
	case len(r.opened) == 0:
		return "a closing parenthesis without an opening one"
	case pending:
		return "a bond without an atom after it"
	case afterOpen:
		return "an empty branch"
	case afterDot:
		return "a dot without an atom after it"
	}
	r.last = r.opened[len(r.opened)-1][1]
	r.opened = r.opened[:len(r.opened)-1]
	return ""
}

func (r *reader) finish() (int, string) {
	if r.pending {
		return r.before.at, "a bond without an atom after it"
	}
	if r.before.kind == dotToken && r.before.end > 0 {
		return r.before.at, "a dot without an atom after it"
	}
	if len(r.opened) > 0 {
		return r.opened[len(r.opened)-1][0], "a branch that is not closed"
	}
	first := ringEnd{at: -1}
	number := 0
	for n, end := range r.rings {
		if first.at < 0 || end.at < first.at {
			first, number = end, n
		}
	}
	if first.at >= 0 {
		return first.at, fmt.Sprintf("ring closure %d is not closed", number)
	}
	return -1, "not accepted by RDKit's SMILES grammar"
}
