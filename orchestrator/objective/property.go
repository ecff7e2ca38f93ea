package objective

import "retort/chem"

// property is a term that needs only the molecule.
type property struct {
	name  string
	unit  float64
	facts chem.Facts // needed by value
	value func(*chem.Molecule) float64
}

// properties are the terms that [chem.Evaluate] computes with the molecule. plogP is [chem.Molecule.PenalizedLogP].
var properties = []property{
	{"QED", 0.1, chem.FactQED, (*chem.Molecule).QED},
	{"plogP", 1, chem.FactLogP | chem.FactSA, (*chem.Molecule).PenalizedLogP},
	{"SA", 1, chem.FactSA, (*chem.Molecule).SA},
	{"LogP", 1, chem.FactLogP, (*chem.Molecule).LogP},
	{"TPSA", 20, chem.FactTPSA, (*chem.Molecule).TPSA},
	{"MW", 50, chem.FactFormula, (*chem.Molecule).Weight},
}

// count is a term that a panel measures and that has no parameters.
type count struct {
	name string
	unit float64
	kind chem.MeasureKind
}

var counts = []count{
	{"rings", 1, chem.RingCount},
	{"aromatic_rings", 1, chem.AromaticRingCount},
	{"rotatable_bonds", 1, chem.RotatableBonds},
	{"donors", 1, chem.HydrogenDonors},
	{"acceptors", 1, chem.HydrogenAcceptors},
	{"heavy_atoms", 3, chem.HeavyAtomCount},
	{"fraction_sp3", 0.1, chem.FractionSP3},
	{"PAINS", 1, chem.PAINSAlerts},
	{"Brenk", 1, chem.BrenkAlerts},
}

// Names returns the names of the built-in terms.
func Names() []string {
	return append(plainNames(), "similarity", "median", "substructure", "scaffold", "isomer", "element_count")
}

// plainNames returns the names of the built-in terms without parameters.
func plainNames() []string {
	var names []string
	for _, p := range properties {
		names = append(names, p.name)
	}
	for _, c := range counts {
		names = append(names, c.name)
	}
	return append(names, "novelty", synthesisSteps)
}
