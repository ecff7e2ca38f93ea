// BRICS bonds: Degen et al., ChemMedChem 3, 1503 (2008), as RDKit's Chem/BRICS.py finds them.
#pragma once
#include "pattern.h"

namespace retort {

// Returns the indices of the bonds in the order of FindBRICSBonds.
std::vector<unsigned> brics_bonds(const Graph &g);

}  // namespace retort
