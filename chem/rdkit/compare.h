// What a molecule has in common with another one, for drawings that show what changed.
#pragma once
#include "molecule.h"

#include <vector>

namespace retort {

struct Common {
  std::vector<int> partner;  // by atom of the molecule: its atom in the reference, or -1
  std::vector<int> largest;  // atoms of the largest part that is in one piece
};

// Finds parts that both molecules have: connected atoms of equal element, charge and aromaticity with
// equal bonds. Parts are grown from pairs of atoms whose surroundings are alike up to the largest
// distance, the largest part first, each atom once. This is not a maximum common subgraph, whose search
// has no bound: time is at most proportional to the number of starts (kStarts) times the bonds.
Common common(const RDKit::ROMol &mol, const RDKit::ROMol &reference);

// How a molecule differs from its reference.
struct Difference {
  std::vector<int> atoms;  // new or of another kind
  std::vector<int> bonds;  // the same, and bonds between parts that the reference has elsewhere
  std::vector<int> sites;  // atoms that stayed and lost a neighbour, with nothing new in its place
};
Difference difference(const RDKit::ROMol &mol, const RDKit::ROMol &reference, const Common &common);

}  // namespace retort
