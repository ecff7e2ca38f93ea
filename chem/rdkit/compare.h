// Compares a molecule with a reference, for drawings that show what changed.
#pragma once
#include "molecule.h"

#include <vector>

namespace retort {

struct Common {
  std::vector<int> partner;  // per atom of the molecule: the corresponding atom of the reference, or -1
  std::vector<int> largest;  // atoms of the largest connected part
};

// Finds parts that both molecules have: connected atoms of equal element, charge and aromaticity with equal bonds. It
// grows parts from the pairs of atoms with the most similar surroundings and takes the largest part first; each atom is
// in at most one part. The result is not a maximum common subgraph, whose search has no time bound. Here time is at
// most proportional to the number of starts (kStarts) times the number of bonds.
Common common(const RDKit::ROMol &mol, const RDKit::ROMol &reference);

// How a molecule differs from its reference.
struct Difference {
  std::vector<int> atoms;  // new, or of another kind
  std::vector<int> bonds;  // likewise, and bonds between parts that are joined differently in the reference
  std::vector<int> sites;  // unchanged atoms that lost a neighbour without a replacement
};
Difference difference(const RDKit::ROMol &mol, const RDKit::ROMol &reference, const Common &common);

}  // namespace retort
