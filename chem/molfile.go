package chem

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"retort/chem/rdkit"
)

// maxMolfile bounds what is passed to RDKit, in bytes: 300 atoms take about 40 KB.
const maxMolfile = 256 << 10

// ErrMolfile says that a text is not a molecule in MDL's format.
var ErrMolfile = errors.New("not a mol block")

// ParseMolfile reads a molecule in MDL's format, V2000 or V3000: the text before the data of a record of an SDF. It has
// at most 300 atoms, explicit hydrogens counted, and as SMILES it is within the default [Limits].
func ParseMolfile(block string) (*Molecule, error) {
	if len(block) > maxMolfile {
		return nil, &LimitError{Got: len(block), Limit: maxMolfile, Cause: ErrTooLong}
	}
	atoms, err := molfileAtoms(block)
	if err != nil {
		return nil, err
	}
	if atoms > ceilings.Atoms {
		return nil, &LimitError{Got: atoms, Limit: ceilings.Atoms, Cause: ErrTooManyAtoms}
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

// molfileAtoms is the number of atoms that a mol block announces: in its fourth line or, in V3000, in a line of counts.
func molfileAtoms(block string) (int, error) {
	lines := strings.SplitN(block, "\n", 16)
	if len(lines) < 5 || len(lines[3]) < 6 {
		return 0, fmt.Errorf("%w: its fourth line, of counts, is missing", ErrMolfile)
	}
	text := strings.TrimSpace(lines[3][:3])
	if strings.Contains(lines[3], "V3000") {
		text = ""
		for _, line := range lines[4:] {
			if words := strings.Fields(line); len(words) > 3 && words[0] == "M" && words[1] == "V30" && words[2] == "COUNTS" {
				text = words[3]
				break
			}
		}
	}
	atoms, err := strconv.Atoi(text)
	if err != nil || atoms < 0 {
		return 0, fmt.Errorf("%w: %q is no count of atoms", ErrMolfile, text)
	}
	return atoms, nil
}
