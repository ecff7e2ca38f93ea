package search

import (
	"context"

	"retort/chem"
)

// Property is a number that a molecule has.
type Property struct {
	Name string
	// Unit is a difference that is a step worth taking: see [Objective].
	Unit float64
	// Facts are what Values asks of each molecule.
	Facts chem.Facts
	// Values gives one number per molecule, in order. NaN or an infinite one says that the molecule has none.
	Values func(ctx context.Context, molecules []*chem.Molecule) ([]float64, error)
}

// Properties are those that are computed in the process. plogP is the normalised one: see [chem.Normalized].
var Properties = []Property{
	computed("QED", 0.1, chem.FactQED, (*chem.Molecule).QED),
	computed("plogP", 1, chem.FactLogP|chem.FactSA, func(m *chem.Molecule) float64 { return m.PenalizedLogP(chem.Normalized) }),
	computed("SA", 1, chem.FactSA, (*chem.Molecule).SA),
	computed("LogP", 1, chem.FactLogP, (*chem.Molecule).LogP),
	computed("TPSA", 20, chem.FactTPSA, (*chem.Molecule).TPSA),
	computed("MW", 50, chem.FactFormula, (*chem.Molecule).Weight),
}

// computed is a property that is a function of one molecule.
func computed(name string, unit float64, facts chem.Facts, value func(*chem.Molecule) float64) Property {
	return Property{Name: name, Unit: unit, Facts: facts, Values: func(_ context.Context, molecules []*chem.Molecule) ([]float64, error) {
		values := make([]float64, len(molecules))
		for i, m := range molecules {
			values[i] = value(m)
		}
		return values, nil
	}}
}
