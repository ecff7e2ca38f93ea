package masked

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"retort/chem"
)

// marker stands for the n-th mask, counted from 1, while RDKit reads the
// template: uranium bonds to anything, and no model of drugs knows it. Number 0
// stands for an open position.
func marker(n int) string { return "[" + strconv.Itoa(n+1) + "U]" }

var (
	dummy     = regexp.MustCompile(`\[\d*\*(?::\d+)?\]|\*`)
	markAlone = regexp.MustCompile(`^\[\d+U\](?:<\d+>)*$`)
	// radical is an atom with an unpaired electron: one that RDKit writes in
	// brackets though it has no charge, isotope or stereo, with the ring numbers
	// that follow.
	radical = regexp.MustCompile(`\[(C|N|O|c)(?:H\d*)?\]((?:\d|%\d\d)*)`)
)

// given reads the fragments of a template.
func (m *marked) given(t *Template) error {
	smiles, err := chem.DecodeSAFE(string(m.text), chem.DecodeOptions{KeepOpen: true})
	if err != nil {
		return m.explain(err)
	}
	if m.inside {
		if smiles, err = detached(smiles); err != nil {
			return err
		}
	}
	if smiles == "" {
		return nil
	}
	return t.keep(smiles)
}

// keep makes the components of smiles the given fragments. A dangling bond
// written as a radical, as cutting a SMILES by hand leaves it, is an open
// position.
func (t *Template) keep(smiles string) error {
	t.Given = strings.Split(radical.ReplaceAllString(smiles, "$1$2(*)"), ".")
	for i, part := range t.Given {
		parsed, err := chem.Parse(part)
		if err != nil {
			return err
		}
		t.Given[i] = parsed.SMILES()
		query, err := chem.FragmentQuery(t.Given[i])
		if err != nil {
			return fmt.Errorf("the fragment %s cannot be kept: %w", part, err)
		}
		t.queries = append(t.queries, query)
	}
	return nil
}

// detached cuts all bonds to markers: the rest keeps open positions in their
// place.
func detached(smiles string) (string, error) {
	safe, err := chem.EncodeSAFE(dummy.ReplaceAllString(smiles, marker(0)), chem.EncodeOptions{Slicer: chem.SingleBonds, Brackets: true})
	if err != nil {
		return "", err
	}
	var kept []string
	for piece := range strings.SplitSeq(safe, ".") {
		mark := markAlone.MatchString(piece)
		switch {
		case !mark && strings.Contains(piece, "U]"):
			return "", errors.New("a mask among atoms must be joined to them by single bonds outside of rings")
		case !mark:
			kept = append(kept, piece)
		}
	}
	if len(kept) == 0 {
		return "", nil
	}
	return chem.DecodeSAFE(strings.Join(kept, "."), chem.DecodeOptions{KeepOpen: true})
}

// explain tells where in the template a chemical problem is.
func (m *marked) explain(err error) error {
	var syntax *chem.SyntaxError
	var valence *chem.ValenceError
	var kekulize *chem.KekulizeError
	reason, position := err.Error(), -1
	switch {
	case errors.As(err, &syntax):
		reason, position = syntax.Reason, syntax.Position
	case errors.As(err, &valence):
		reason, position = "atom "+valence.Symbol+": "+valence.Reason, valence.Position
	case errors.As(err, &kekulize):
		reason, position = kekulize.Reason, kekulize.Position
	}
	if strings.Contains(string(m.text), "<") || position < 0 || position >= len(m.at) {
		return fmt.Errorf("the template is not SMILES or SAFE: %s", reason) // <1> is read as a ring number of another length
	}
	return fmt.Errorf("character %d: the template is not SMILES or SAFE: %s", m.at[position]+1, reason)
}
