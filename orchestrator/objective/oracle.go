package objective

import (
	"context"
	"errors"

	"retort/chem"
)

// Oracle scores molecules outside of this process, with a model of the operator. It is safe for concurrent use.
type Oracle interface {
	// Name returns the name of the term.
	Name() string
	// Outputs returns the names of its numbers. A term without an output uses the first.
	Outputs() []string
	// Unit returns the unit of its scores.
	Unit() float64
	// Facts returns the facts that Score needs of each molecule.
	Facts() chem.Facts
	// Score returns one row per molecule, with one number per output. NaN or an infinite number means no score. The
	// error names the oracle, and is ErrBroken if the next try would fail, too. With an error, Score may return the
	// rows of the molecules that were scored, nil for the others.
	Score(ctx context.Context, molecules []*chem.Molecule) ([][]float64, error)
}

// ErrBroken is an oracle that is missing or answers with an error, unlike one that does not answer.
var ErrBroken = errors.New("the oracle is broken")

// Told is the name of the oracle whose scores the client of a job tells. A request that is no job does not have it.
const Told = "told"

// Failure is the error of an oracle that failed while it scored molecules.
type Failure struct {
	Name string // of the oracle
	Err  error
}

func (f *Failure) Error() string { return f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }

// Oracle returns the name of the oracle.
func (f *Failure) Oracle() string { return f.Name }
