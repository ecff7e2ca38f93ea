package chem

import (
	"errors"
	"fmt"

	"retort/chem/rdkit"
	"retort/chem/smiles"
)

// Sentinels for errors.Is.
var (
	ErrEmpty        = errors.New("empty molecule")
	ErrTooLong      = errors.New("text too long")
	ErrTooManyAtoms = errors.New("too many atoms")
	ErrTooManyRings = errors.New("too many ring closures")
	ErrTooComplex   = errors.New("pattern search took too many steps")
)

// SyntaxError says that a text is not valid SMILES, SAFE or SMARTS.
type SyntaxError struct {
	Text     string
	Position int    // byte offset of the first error, or -1 if unknown
	Reason   string // for example "unclosed ring 1"
}

func (e *SyntaxError) Error() string {
	if e.Position < 0 {
		return fmt.Sprintf("syntax error in %q: %s", e.Text, e.Reason)
	}
	return fmt.Sprintf("syntax error in %q at position %d: %s", e.Text, e.Position, e.Reason)
}

// ValenceError says that an atom has more bonds than its element allows.
type ValenceError struct {
	Text     string
	Atom     int    // index of the atom, counted from 0 in the order written
	Position int    // byte offset of that atom, or -1 if unknown
	Symbol   string // the atom as written, for example "N" or "[NH4]"
	Reason   string // RDKit's wording
}

func (e *ValenceError) Error() string {
	if e.Atom < 0 {
		return fmt.Sprintf("valence in %q: %s", e.Text, e.Reason)
	}
	return fmt.Sprintf("valence of atom %d (%s) in %q: %s", e.Atom, e.Symbol, e.Text, e.Reason)
}

// KekulizeError says that an aromatic part has no pattern of alternating double bonds. The usual cause is a nitrogen
// written n instead of [nH].
type KekulizeError struct {
	Text     string
	Atom     int // index of one atom of the part, or -1 if RDKit names none
	Position int // byte offset of that atom, or -1 if unknown
	Reason   string
}

func (e *KekulizeError) Error() string {
	return fmt.Sprintf("aromaticity in %q: %s", e.Text, e.Reason)
}

// LimitError says which limit a text exceeds. It unwraps to ErrTooLong, ErrTooManyAtoms or ErrTooManyRings.
type LimitError struct {
	Got, Limit int
	Cause      error
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %d, at most %d", e.Cause, e.Got, e.Limit)
}

func (e *LimitError) Unwrap() error { return e.Cause }

// Explain converts an error of package rdkit to an error of this package with a position in the text. The text may have
// white space around it, which package rdkit did not receive.
func Explain(text string, err error) error {
	trimmed, start := trim(text)
	atomAt := func(index int) (symbol string, position int) {
		atom, ok := smiles.AtomAt(trimmed, index)
		if !ok {
			return "", -1
		}
		return atom.In(trimmed), start + atom.Start
	}
	var f *rdkit.Failure
	if !errors.As(err, &f) {
		return err
	}
	switch f.Status {
	case rdkit.Syntax:
		position, reason := smiles.Locate(trimmed)
		if position >= 0 {
			position += start
		}
		return &SyntaxError{Text: text, Position: position, Reason: reason}
	case rdkit.Valence:
		e := &ValenceError{Text: text, Atom: f.Atom, Reason: f.Message}
		e.Symbol, e.Position = atomAt(f.Atom)
		return e
	case rdkit.Kekulize:
		e := &KekulizeError{Text: text, Atom: f.Atom, Reason: f.Message}
		_, e.Position = atomAt(f.Atom)
		return e
	case rdkit.Empty:
		return ErrEmpty
	case rdkit.Budget:
		return ErrTooComplex
	}
	return fmt.Errorf("%q: %w", text, f)
}

// Reason returns why a text is not a molecule, without the text itself, and the byte offset of the error, or -1 if it
// is unknown. err is an error of [Parse].
func Reason(err error) (reason string, position int) {
	var syntax *SyntaxError
	var valence *ValenceError
	var kekulize *KekulizeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Reason, syntax.Position
	case errors.As(err, &valence):
		return valence.Reason, valence.Position
	case errors.As(err, &kekulize):
		return kekulize.Reason, kekulize.Position
	}
	return err.Error(), -1
}
