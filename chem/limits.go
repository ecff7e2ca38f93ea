package chem

import (
	"fmt"
	"strings"

	"retort/chem/smiles"
)

// The limits of the texts that RDKit reads, whose calls cannot be interrupted. Within them no known input takes more
// than some tens of milliseconds. Beyond them, a chain of 5,000 carbons takes many seconds, and a chain of 30,000
// overflows the C stack and ends the process.
const (
	MaxBytes = 512 // length of the text
	MaxAtoms = 200 // atoms written, hydrogens included
	MaxRings = 64  // ring closures
)

// Check returns a text without surrounding white space if it is within the limits. Otherwise the error is a
// [*LimitError], a [*SyntaxError] for a byte that no SMILES has, or ErrEmpty.
func Check(text string) (string, error) {
	if len(text) > MaxBytes {
		return "", &LimitError{Got: len(text), Limit: MaxBytes, Cause: ErrTooLong}
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
	if atoms > MaxAtoms {
		return "", &LimitError{Got: atoms, Limit: MaxAtoms, Cause: ErrTooManyAtoms}
	}
	if closures > 2*MaxRings {
		return "", &LimitError{Got: closures / 2, Limit: MaxRings, Cause: ErrTooManyRings}
	}
	return trimmed, nil
}

// trim removes the white space around a text. The result starts at byte start of the text.
func trim(text string) (trimmed string, start int) {
	const space = " \t\r\n"
	left := strings.TrimLeft(text, space)
	return strings.TrimRight(left, space), len(text) - len(left)
}
