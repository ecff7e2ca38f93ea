package smiles

import (
	"regexp"
	"strings"
)

// Bracket has the parts of a bracket atom as written: [13C@@H2+:7] has the isotope 13, the element C, the chirality @@,
// the hydrogens H2, the charge + and the map :7.
type Bracket struct {
	Isotope   string
	Element   string // a symbol (of any element or none), "*", or an atomic number such as #6
	Chirality string
	Hydrogens string
	Charge    string
	Map       string
}

// Radical reports whether an atom of a canonical SMILES has an unpaired electron: a carbon, nitrogen or oxygen in
// brackets without an isotope, charge, stereo or map, which needs brackets only because of its number of hydrogens.
func (b Bracket) Radical() bool {
	return strings.Contains(" C N O c ", " "+b.Element+" ") && b.Isotope+b.Chirality+b.Charge+b.Map == ""
}

// bracketAtom matches the bracket atoms that RDKit accepts.
var bracketAtom = regexp.MustCompile(
	`^\[(\d*)([A-Z][a-z]?|[a-z]{1,2}|\*|#\d+)` +
		`(@(?:@|TH[12]|AL[12]|SP[123]|TB\d{1,2}|OH\d{1,2})?)?` +
		`(H\d*)?(\+\+|--|[+-]\d*)?(:\d+)?\]$`)

// ParseBracket reads a bracket atom. It returns false if the text is not one.
func ParseBracket(atom string) (Bracket, bool) {
	if len(atom) < 3 || atom[0] != '[' {
		return Bracket{}, false
	}
	m := bracketAtom.FindStringSubmatch(atom)
	if m == nil {
		return Bracket{}, false
	}
	return Bracket{Isotope: m[1], Element: m[2], Chirality: m[3], Hydrogens: m[4], Charge: m[5], Map: m[6]}, true
}

// String returns the atom with its brackets.
func (b Bracket) String() string {
	return "[" + b.Isotope + b.Element + b.Chirality + b.Hydrogens + b.Charge + b.Map + "]"
}
