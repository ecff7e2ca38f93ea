// Changes of atoms, bonds and rings.
#include "edit.h"

#include <GraphMol/MolOps.h>

#include <algorithm>

namespace retort {
namespace {

using RDKit::Atom;
using RDKit::Bond;

template <typename T>
const T &pick(const std::vector<T> &all, Random &random) {
  return all[random.below(all.size())];
}

// Draws an element to insert, the common ones more often.
int random_element(Random &random) {
  static const std::vector<int> elements{6, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 9, 16, 17, 17, 35};
  return pick(elements, random);
}

// Draws an atom. Returns -1 if it is fixed.
int random_atom(const Parent &p, Random &random) {
  const int atom = random.below(p.size());
  return p.fixed[atom] ? -1 : atom;
}

// Draws an atom. Returns -1 if it is fixed or has fewer hydrogens than `least`.
int random_open_atom(const Parent &p, int least, Random &random) {
  const int atom = random_atom(p, random);
  return atom < 0 || p.hydrogens[atom] < least ? -1 : atom;
}

// Sums the orders of an atom's bonds, those to hydrogens not counted.
int bond_order_sum(const Parent &p, int atom) {
  const auto *a = p.mol->getAtomWithIdx(atom);
  return a->getTotalValence() - a->getTotalNumHs();
}

bool is_neutral(const Parent &p, int atom) { return p.mol->getAtomWithIdx(atom)->getFormalCharge() == 0; }

void set_element(Draft &mol, int atom, int element) {
  auto *a = mol.getAtomWithIdx(atom);
  a->setAtomicNum(element);
  if (element != 6) a->setChiralTag(Atom::CHI_UNSPECIFIED);
}

bool replace_atom(const Parent &p, Draft &mol, Random &random) {
  const int atom = random_atom(p, random);
  const int element = random_element(random);
  if (atom < 0 || !is_neutral(p, atom) || bond_order_sum(p, atom) > usual_valence(element)) return false;
  if (p.mol->getAtomWithIdx(atom)->getAtomicNum() == element) return false;
  set_element(mol, atom, element);
  return true;
}

bool append_atom(const Parent &p, Draft &mol, Random &random) {
  static const std::vector<std::pair<int, int>> choices{
      {6, 1}, {6, 1}, {6, 1}, {7, 1}, {8, 1}, {8, 1}, {9, 1}, {9, 1}, {17, 1}, {35, 1}, {16, 1}, {8, 2}, {6, 2},
      {7, 3}};
  const auto [element, bonds] = pick(choices, random);
  const int atom = random_open_atom(p, bonds, random);
  if (atom < 0) return false;
  Atom fresh(element);
  connect(mol, atom, mol.addAtom(&fresh));
  auto *bond = mol.getBondBetweenAtoms(atom, mol.getNumAtoms() - 1);
  if (bonds == 2) bond->setBondType(Bond::DOUBLE);
  if (bonds == 3) bond->setBondType(Bond::TRIPLE);
  return true;
}

// Inserts an atom into a single bond of a chain or a ring.
bool insert_atom(const Parent &p, Draft &mol, Random &random) {
  static const std::vector<int> elements{6, 6, 6, 7, 7, 8, 8, 16};
  if (!p.mol->getNumBonds()) return false;
  const auto *bond = p.mol->getBondWithIdx(random.below(p.mol->getNumBonds()));
  const int a = bond->getBeginAtomIdx(), b = bond->getEndAtomIdx();
  if (bond->getBondType() != Bond::SINGLE || p.fixed[a] || p.fixed[b]) return false;
  if (p.mol->getRingInfo()->numBondRings(bond->getIdx()) && p.aromatic[a] && p.aromatic[b]) return false;
  Atom fresh(pick(elements, random));
  const int middle = mol.addAtom(&fresh);
  substitute(*p.mol, mol, a, b, middle);
  mol.addBond(middle, b, Bond::SINGLE);
  keep_configuration(*p.mol, mol, b, a, b);
  return true;
}

// Deletes an atom with one neighbour, or with two neighbours, which are then bonded to each other.
bool delete_atom(const Parent &p, Draft &mol, Random &random) {
  const int atom = random_atom(p, random);
  if (atom < 0 || p.size() < 2) return false;
  std::vector<int> next;
  for (const auto n : p.mol->atomNeighbors(p.mol->getAtomWithIdx(atom))) next.push_back(n->getIdx());
  for (const int n : next) {
    if (p.fixed[n]) return false;
  }
  if (next.size() == 2) {
    if (mol.getBondBetweenAtoms(next[0], next[1])) return false;
    substitute(*p.mol, mol, next[0], atom, next[1]);
    keep_configuration(*p.mol, mol, next[1], atom, next[1]);
  } else if (next.size() == 1) {
    mol.getAtomWithIdx(next[0])->setChiralTag(Atom::CHI_UNSPECIFIED);
  } else {
    return false;
  }
  remove(mol, {atom});
  return true;
}

bool change_bond(const Parent &p, Draft &mol, Random &random) {
  if (!p.mol->getNumBonds()) return false;
  auto *bond = mol.getBondWithIdx(random.below(p.mol->getNumBonds()));
  const int a = bond->getBeginAtomIdx(), b = bond->getEndAtomIdx();
  if (p.fixed[a] || p.fixed[b] || (p.aromatic[a] && p.aromatic[b])) return false;
  const bool room = p.hydrogens[a] && p.hydrogens[b];
  switch (bond->getBondType()) {
    case Bond::SINGLE:
      if (!room) return false;
      bond->setBondType(Bond::DOUBLE);
      break;
    case Bond::DOUBLE:
      bond->setBondType(room && random.below(3) == 0 ? Bond::TRIPLE : Bond::SINGLE);
      break;
    case Bond::TRIPLE: bond->setBondType(Bond::DOUBLE); break;
    default: return false;
  }
  bond->setStereo(Bond::STEREONONE);
  for (const int end : {a, b}) mol.getAtomWithIdx(end)->setChiralTag(Atom::CHI_UNSPECIFIED);
  return true;
}

// Returns the distance of each atom from one atom, in bonds, or -1 if it is more than six.
std::vector<int> distances(const Parent &p, int from) {
  std::vector<int> far(p.size(), -1), queue{from};
  far[from] = 0;
  for (size_t i = 0; i < queue.size() && far[queue[i]] < 6; ++i) {
    for (const auto next : p.mol->atomNeighbors(p.mol->getAtomWithIdx(queue[i]))) {
      if (far[next->getIdx()] >= 0) continue;
      far[next->getIdx()] = far[queue[i]] + 1;
      queue.push_back(next->getIdx());
    }
  }
  return far;
}

// Bonds two atoms to close a ring of three to seven atoms, most often of five or six.
bool close_ring(const Parent &p, Draft &mol, Random &random) {
  static const std::vector<int> sizes{3, 4, 5, 5, 5, 5, 6, 6, 6, 6, 6, 7};
  const int from = random_open_atom(p, 1, random);
  if (from < 0) return false;
  const int apart = pick(sizes, random) - 1;
  const auto far = distances(p, from);
  std::vector<int> ends;
  for (int i = 0; i < p.size(); ++i) {
    const bool bridge = p.aromatic[from] && p.aromatic[i] && apart < 4;
    if (far[i] == apart && !p.fixed[i] && p.hydrogens[i] && !bridge) ends.push_back(i);
  }
  if (ends.empty()) return false;
  connect(mol, from, pick(ends, random));
  return true;
}

bool open_ring(const Parent &p, Draft &mol, Random &random) {
  const auto *rings = p.mol->getRingInfo();
  std::vector<const Bond *> bonds;
  for (const auto bond : p.mol->bonds()) {
    const int a = bond->getBeginAtomIdx(), b = bond->getEndAtomIdx();
    const bool free = bond->getBondType() == Bond::SINGLE && !p.fixed[a] && !p.fixed[b];
    if (free && rings->numBondRings(bond->getIdx()) && !(p.aromatic[a] && p.aromatic[b])) bonds.push_back(bond);
  }
  if (bonds.empty()) return false;
  const auto *bond = pick(bonds, random);
  for (const int end : {bond->getBeginAtomIdx(), bond->getEndAtomIdx()}) {
    mol.getAtomWithIdx(end)->setChiralTag(Atom::CHI_UNSPECIFIED);
  }
  mol.removeBond(bond->getBeginAtomIdx(), bond->getEndAtomIdx());
  return true;
}

// Exchanges the elements of two atoms up to three bonds apart. So a nitrogen moves within its ring, or an amide is
// reversed.
bool exchange_atoms(const Parent &p, Draft &mol, Random &random) {
  const int a = random_atom(p, random);
  if (a < 0) return false;
  const auto far = distances(p, a);
  std::vector<int> others;
  const int first = p.mol->getAtomWithIdx(a)->getAtomicNum();
  for (int b = 0; b < p.size(); ++b) {
    const int second = p.mol->getAtomWithIdx(b)->getAtomicNum();
    const bool fits = bond_order_sum(p, a) <= usual_valence(second) && bond_order_sum(p, b) <= usual_valence(first);
    if (far[b] > 0 && far[b] <= 3 && !p.fixed[b] && first != second && fits && is_neutral(p, a) && is_neutral(p, b)) {
      others.push_back(b);
    }
  }
  if (others.empty()) return false;
  const int b = pick(others, random);
  set_element(mol, a, p.mol->getAtomWithIdx(b)->getAtomicNum());
  set_element(mol, b, first);
  mol.getAtomWithIdx(a)->setChiralTag(Atom::CHI_UNSPECIFIED);
  mol.getAtomWithIdx(b)->setChiralTag(Atom::CHI_UNSPECIFIED);
  return true;
}

struct Kind {
  int weight;  // relative frequency
  bool (*change)(const Parent &, Draft &, Random &);
};

const Kind kinds[] = {{16, replace_atom}, {10, append_atom},    {8, insert_atom},   {10, delete_atom},
                      {5, change_bond},   {4, close_ring},      {3, open_ring},     {8, exchange_atoms},
                      {12, append_group}, {12, replace_group},  {6, delete_group},  {6, move_group}};
constexpr int kTotalWeight = 100;

}  // namespace

bool mutate(const Parent &parent, Draft &mol, Random &random) {
  int drawn = random.below(kTotalWeight);
  for (const auto &kind : kinds) {
    if ((drawn -= kind.weight) < 0) return kind.change(parent, mol, random);
  }
  return false;
}

bool change_stereo(const Parent &parent, Draft &mol, Random &random) {
  const int drawn = random_atom(parent, random);
  if (drawn < 0 || parent.mol->getAtomWithIdx(drawn)->getDegree() < 3) return false;
  auto *atom = mol.getAtomWithIdx(drawn);
  // Assigning stereochemistry removes the mark of an atom that is not a stereocentre.
  const bool marked = atom->getChiralTag() != Atom::CHI_UNSPECIFIED;
  if (marked) atom->invertChirality();
  if (!marked) atom->setChiralTag(random.below(2) ? Atom::CHI_TETRAHEDRAL_CW : Atom::CHI_TETRAHEDRAL_CCW);
  return true;
}

}  // namespace retort
