// BRICS bonds: Degen et al., ChemMedChem 3, 1503 (2008), as RDKit's Chem/BRICS.py finds them.
#pragma once
#include "pattern.h"

namespace retort {

struct BricsBond {
  int begin, end;      // atoms, in the order of the labels
  int first, second;   // environments, 1 to 16
};

// The bonds in the order of FindBRICSBonds.
std::vector<BricsBond> brics_bonds(const Graph &g);

}  // namespace retort
