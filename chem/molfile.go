package chem

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"retort/chem/rdkit"
)

const (
	maxMolfileBytes = 256 << 10 // 300 atoms take about 40 KB
	maxMolfileAtoms = 300       // explicit hydrogens included
)

// ErrMolfile says that a text is not a molecule in MDL format.
var ErrMolfile = errors.New("not a mol block")

// ParseMolfile reads a mol block (MDL V2000 or V3000): the part of an SD record before its data. It may have up to 300
// atoms, explicit hydrogens included, and its SMILES must be within the limits. The error is an [ErrMolfile]
// or an error of [Parse].
func ParseMolfile(block string) (*Molecule, error) {
	if len(block) > maxMolfileBytes {
		return nil, &LimitError{Got: len(block), Limit: maxMolfileBytes, Cause: ErrTooLong}
	}
	atoms, err := molfileAtoms(block)
	if err != nil {
		return nil, err
	}
	if atoms > maxMolfileAtoms {
		return nil, &LimitError{Got: atoms, Limit: maxMolfileAtoms, Cause: ErrTooManyAtoms}
	}
	smiles, err := rdkit.ReadMolfile(block)
	var failure *rdkit.Failure
	switch {
	case errors.As(err, &failure) && failure.Status == rdkit.Empty:
		return nil, ErrEmpty
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrMolfile, err)
	}
	return Parse(smiles)
}

// molfileAtoms returns the number of atoms that a mol block announces in its fourth line or, in V3000, in its counts
// line.
func molfileAtoms(block string) (int, error) {
	lines := strings.SplitN(block, "\n", 16)
	if len(lines) < 5 || len(lines[3]) < 6 {
		return 0, fmt.Errorf("%w: the fourth line (counts) is missing", ErrMolfile)
	}
	text := strings.TrimSpace(lines[3][:3])
	if strings.Contains(lines[3], "V3000") {
		text = ""
		for _, line := range lines[4:] {
			words := strings.Fields(line)
			if len(words) > 3 && slices.Equal(words[:3], []string{"M", "V30", "COUNTS"}) {
				text = words[3]
				break
			}
		}
	}
	atoms, err := strconv.Atoi(text)
	if err != nil || atoms < 0 {
		return 0, fmt.Errorf("%w: %q is not a number of atoms", ErrMolfile, text)
	}
	return atoms, nil
}

// Property is a named value of a record in an SD file.
type Property struct{ Name, Value string }

// SDRecord writes a record of an SD file: a title, a molecule with 2D coordinates, and its properties. Properties
// without a value are omitted.
func SDRecord(m *Molecule, title string, properties ...Property) (string, error) {
	block, err := rdkit.MolBlock(m.text)
	if err != nil {
		return "", Explain(m.text, err)
	}
	_, body, found := strings.Cut(block, "\n")
	if !found {
		return "", errors.New("a mol block without lines")
	}
	var b strings.Builder
	b.WriteString(oneLine(title))
	b.WriteByte('\n')
	b.WriteString(body)
	for _, p := range properties {
		if value := oneLine(p.Value); value != "" {
			fmt.Fprintf(&b, ">  <%s>\n%s\n\n", fieldName(p.Name), value)
		}
	}
	b.WriteString("$$$$\n")
	return b.String(), nil
}

// oneLine returns a text that fits one line of an SD file and starts neither a field nor a record.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, ">") || strings.HasPrefix(text, "$$$$") {
		return "." + text
	}
	return text
}

// fieldName replaces the characters that may not be in the name of a field.
func fieldName(name string) string {
	return strings.Map(func(r rune) rune {
		if slices.Contains([]rune("<>-.=%"), r) || r <= ' ' {
			return '_'
		}
		return r
	}, oneLine(name))
}
