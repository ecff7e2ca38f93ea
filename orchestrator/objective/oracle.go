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
	// error names the oracle.
	Score(ctx context.Context, molecules []*chem.Molecule) ([][]float64, error)
}
