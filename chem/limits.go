package chem

import (
	"fmt"
	"strings"

	"retort/chem/smiles"
)

// Limits bound the input of RDKit, whose calls cannot be interrupted. Within the defaults no known input takes more
// than some tens of milliseconds. Without limits, a chain of 5,000 carbons takes many seconds, and a chain of 30,000
// overflows the C stack and ends the process. A field of 0 means the default; a value above the ceiling means the
// ceiling.
type Limits struct {
	Bytes int // length of the text; default 512, ceiling 1024
	Atoms int // atoms written, hydrogens included; default 200, ceiling 300
	Rings int // ring closures; default 64, ceiling 128
}

// defaults are the limits of the functions without a parameter for them.
var defaults = Limits{Bytes: 512, Atoms: 200, Rings: 64}

var ceilings = Limits{Bytes: 1024, Atoms: 300, Rings: 128}

// WithDefaults returns the effective limits: no field is zero or above its ceiling.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Bytes: bounded(l.Bytes, defaults.Bytes, ceilings.Bytes),
		Atoms: bounded(l.Atoms, defaults.Atoms, ceilings.Atoms),
		Rings: bounded(l.Rings, defaults.Rings, ceilings.Rings),
	}
}

// bounded returns a setting: its default if it is not positive, and at most the ceiling.
func bounded(value, fallback, ceiling int) int {
	if value <= 0 {
		return fallback
	}
	return min(value, ceiling)
}

// Check returns the text without surrounding white space if it is within the limits. Otherwise the error is a
// [*LimitError], a [*SyntaxError] for a byte that no SMILES has, or ErrEmpty.
func (l Limits) Check(text string) (string, error) {
	l = l.WithDefaults()
	if len(text) > l.Bytes {
		return "", &LimitError{Got: len(text), Limit: l.Bytes, Cause: ErrTooLong}
	}
	trimmed, start := trim(text)
	if trimmed == "" {
		return "", ErrEmpty
	}
	for i := 0; i < len(trimmed); i++ {
		if trimmed[i] <= ' ' || trimmed[i] > '~' {
			reason := fmt.Sprintf("byte 0x%02x is not allowed", trimmed[i])
			return "", &SyntaxError{Text: text, Position: start + i, Reason: reason}
		}
	}
	atoms, closures := smiles.Count(trimmed)
	if atoms > l.Atoms {
		return "", &LimitError{Got: atoms, Limit: l.Atoms, Cause: ErrTooManyAtoms}
	}
	if closures > 2*l.Rings {
		return "", &LimitError{Got: closures / 2, Limit: l.Rings, Cause: ErrTooManyRings}
	}
	return trimmed, nil
}

// trim removes the white space around a text. The result starts at byte start of the text.
func trim(text string) (trimmed string, start int) {
	const space = " \t\r\n"
	left := strings.TrimLeft(text, space)
	return strings.TrimRight(left, space), len(text) - len(left)
}
