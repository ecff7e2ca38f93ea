package smiles

import (
	"fmt"
	"strings"
)

// elements are the symbols that RDKit supports, and the wildcard.
var elements = setOf(`*
	H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb
	Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu
	Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db
	Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og`)

// aromaticElements are the elements that may be written in lower case.
var aromaticElements = setOf("b c n o p s as se te si")

func setOf(symbols string) map[string]bool {
	set := map[string]bool{}
	for _, symbol := range strings.Fields(symbols) {
		set[symbol] = true
	}
	return set
}

// Locate returns the byte offset and the reason of the first syntax error of a SMILES that RDKit refused, or -1 if it
// finds none. RDKit does not report the position. Locate follows its grammar and is called only after a refusal, so it
// never refuses what RDKit accepts.
func Locate(text string) (position int, reason string) {
	r := reader{text: text, rings: map[int]ringEnd{}, bonded: map[[2]int]bool{}, last: -1}
	for t := range Tokens(text) {
		if reason := r.read(t); reason != "" {
			return t.Start, reason
		}
		r.before = t
	}
	return r.finish()
}

// ringEnd is the first occurrence of an open ring closure.
type ringEnd struct {
	atom int // index of the atom
	at   int // byte offset of the number
}

// branch is an open branch.
type branch struct {
	at   int // byte offset of the parenthesis
	atom int // index of the atom that it belongs to
}

// reader is the state of parsing a SMILES from left to right.
type reader struct {
	text    string
	before  Token           // the previous token; End is 0 at the start
	atoms   int             // number of atoms read
	last    int             // index of the atom that the next bond starts from
	opened  []branch        // open branches
	rings   map[int]ringEnd // open ring closures by number
	bonded  map[[2]int]bool // pairs of bonded atoms
	pending bool            // the previous token is a bond
}

// read reads the next token. It returns the reason if the token is an error, else "".
func (r *reader) read(t Token) string {
	started := r.before.End > 0
	pending := r.pending
	afterOpen := started && r.before.Kind == Open
	afterDot := started && r.before.Kind == Dot
	r.pending = false
	switch t.Kind {
	case Atom:
		return r.atom(t, afterDot)
	case Bond:
		if !started || pending || afterDot {
			return "a bond without an atom before it"
		}
		r.pending = true
	case Ring:
		if !started || afterOpen || afterDot {
			return "a ring closure without an atom before it"
		}
		return r.ring(t)
	case Open:
		if !started || pending || afterOpen || afterDot {
			return "a branch without an atom before it"
		}
		r.opened = append(r.opened, branch{at: t.Start, atom: r.last})
	case Close:
		return r.close(pending, afterOpen, afterDot)
	case Dot:
		if !started || pending || afterOpen || afterDot {
			return "a dot without an atom before it"
		}
	default:
		return fmt.Sprintf("unexpected %q", r.text[t.Start:t.Start+1])
	}
	return ""
}

func (r *reader) atom(t Token, afterDot bool) string {
	if reason := checkAtom(t.In(r.text)); reason != "" {
		return reason
	}
	if r.last >= 0 && !afterDot {
		r.bonded[[2]int{r.last, r.atoms}] = true
	}
	r.last = r.atoms
	r.atoms++
	return ""
}

// checkAtom returns the reason if an atom is an error, else "".
func checkAtom(atom string) string {
	if atom[0] != '[' {
		return ""
	}
	if atom[len(atom)-1] != ']' {
		return "a bracket atom that is not closed"
	}
	b, ok := ParseBracket(atom)
	if !ok {
		return fmt.Sprintf("bad bracket atom %q", atom)
	}
	if !strings.HasPrefix(b.Element, "#") && !elements[b.Element] && !aromaticElements[b.Element] {
		return fmt.Sprintf("unknown element %q", b.Element)
	}
	return ""
}

func (r *reader) ring(t Token) string {
	start, open := r.rings[t.Number]
	if !open {
		r.rings[t.Number] = ringEnd{atom: r.last, at: t.Start}
		return ""
	}
	delete(r.rings, t.Number)
	pair := [2]int{start.atom, r.last}
	if start.atom == r.last {
		return fmt.Sprintf("ring closure %d bonds an atom to itself", t.Number)
	}
	if r.bonded[pair] || r.bonded[[2]int{pair[1], pair[0]}] {
		return fmt.Sprintf("ring closure %d duplicates a bond", t.Number)
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
	r.last = r.opened[len(r.opened)-1].atom
	r.opened = r.opened[:len(r.opened)-1]
	return ""
}

// finish returns the position and the reason of an error that shows at the end of the text.
func (r *reader) finish() (position int, reason string) {
	if r.pending {
		return r.before.Start, "a bond without an atom after it"
	}
	if r.before.Kind == Dot && r.before.End > 0 {
		return r.before.Start, "a dot without an atom after it"
	}
	if len(r.opened) > 0 {
		return r.opened[len(r.opened)-1].at, "a branch that is not closed"
	}
	first := ringEnd{at: -1}
	number := 0
	for n, end := range r.rings {
		if first.at < 0 || end.at < first.at {
			first = end
			number = n
		}
	}
	if first.at >= 0 {
		return first.at, fmt.Sprintf("ring closure %d is not closed", number)
	}
	return -1, "not accepted by RDKit's SMILES grammar"
}
