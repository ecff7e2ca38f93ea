// Reads the properties that patterns test from a molecule.
#include <algorithm>

#include "pattern.h"

namespace retort {

int element_class(int element) {
  switch (element) {
    case 0: return 0;
    case 1: return 1;
    case 5: return 2;
    case 6: return 3;
    case 7: return 4;
    case 8: return 5;
    case 9: return 6;
    case 14: return 7;
    case 15: return 8;
    case 16: return 9;
    case 17: return 10;
    case 35: return 11;
    case 53: return 12;
    default: return 13;
  }
}

namespace {

int atom_class(int element, bool aromatic, bool ring, int charge) {
  const int sign = charge == 0 ? 0 : charge > 0 ? 1 : 2;
  return ((element_class(element) * 2 + aromatic) * 2 + ring) * 3 + sign;
}

}  // namespace

int order_index(RDKit::Bond::BondType type) {
  switch (type) {
    case RDKit::Bond::SINGLE: return 0;
    case RDKit::Bond::DOUBLE: return 1;
    case RDKit::Bond::TRIPLE: return 2;
    case RDKit::Bond::AROMATIC: return 3;
    default: return 4;
  }
}

Graph::Graph(const RDKit::ROMol &mol) {
  const int n = mol.getNumAtoms();
  const auto *rings = mol.getRingInfo();
  atoms.resize(n);
  kind.resize(n);
  first.reserve(n + 1);
  edges.reserve(2 * mol.getNumBonds());
  for (const auto atom : mol.atoms()) {
    const int i = atom->getIdx();
    auto &a = atoms[i];
    const bool aromatic = atom->getIsAromatic();
    a[kElement] = atom->getAtomicNum();
    a[kAromatic] = aromatic;
    a[kAliphatic] = !aromatic;
    a[kType] = a[kElement] + 1000 * aromatic;
    a[kHydrogens] = atom->getTotalNumHs(true);
    a[kImplicit] = atom->getTotalNumHs(false);
    a[kTotalDegree] = atom->getTotalDegree();
    a[kDegree] = atom->getDegree();
    a[kCharge] = atom->getFormalCharge();
    a[kRings] = rings->numAtomRings(i);
    a[kInRing] = a[kRings] != 0;
    a[kIsotope] = std::min(atom->getIsotope(), 32767u);
    a[kValence] = atom->getTotalValence();
    kind[i] = atom_class(a[kElement], aromatic, a[kInRing], a[kCharge]);
    classes.set(kind[i]);
    first.push_back(edges.size());
    for (const auto bond : mol.atomBonds(atom)) {
      BondMask mask = 1 << order_index(bond->getBondType());
      if (rings->numBondRings(bond->getIdx())) mask <<= 5;
      edges.push_back({static_cast<uint16_t>(bond->getOtherAtomIdx(i)),
                       static_cast<uint16_t>(bond->getIdx()), mask});
    }
  }
  first.push_back(edges.size());
}

}  // namespace retort
