package objective

import (
	"context"

	"retort/chem"
)

// Oracle scores molecules outside of this process: a model of the operator's. It is safe for concurrent use.
type Oracle interface {
	// Name is the name of the term.
	Name() string
	// Outputs are the names of the numbers that it gives. A term that names none gets the first.
	Outputs() []string
	// Unit is a difference of scores that is a step worth taking.
	Unit() float64
	// Facts are what Score asks of each molecule.
	Facts() chem.Facts
	// Score gives for each molecule one number per output, in order. NaN or an infinite one says that there is none. The
	// error names the oracle; beside it come the molecules that were scored before, nil for the others, or nothing.
	Score(ctx context.Context, molecules []*chem.Molecule) ([][]float64, error)
}

// Failure is the error of an oracle that failed while it scored molecules.
type Failure struct {
	Name string // of the oracle
	Err  error
}

func (f *Failure) Error() string { return f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }

// Oracle is the name of the oracle.
func (f *Failure) Oracle() string { return f.Name }
