// Changes of substituents, and crossover.
#include "edit.h"

#include <GraphMol/MolOps.h>

#include <algorithm>

namespace retort {
namespace {

using RDKit::Bond;

// Upper bound of a substituent that is replaced or deleted, in atoms.
constexpr size_t kMaxGroup = 8;

// Groups of medicinal chemistry, the small ones more often. The first atom is the one that is bonded.
const char *const groups[] = {
    "F", "F", "F", "Cl", "Cl", "Br", "C", "C", "C", "C", "O", "O", "O", "N", "N", "CC", "CC", "C(C)C", "C1CC1",
    "OC", "OC", "OC", "OCC", "OC(F)(F)F", "OC(F)F", "C(F)(F)F", "C(F)(F)F", "C(F)F", "C#N", "C#N", "NC", "N(C)C",
    "C(=O)O", "C(=O)OC", "C(N)=O", "C(=O)NC", "NC(C)=O", "C(C)=O", "S(C)(=O)=O", "S(N)(=O)=O", "NS(C)(=O)=O",
    "CO", "CN", "CF", "SC", "C=C", "C#C", "C=O", "CCO", "CCN", "CCC", "C(C)(C)C", "COC", "OCCO", "N(=O)=O",
    "c1ccccc1", "c1ccncc1", "c1cccnc1", "n1cccn1", "c1cccs1", "N1CCOCC1", "N1CCCC1", "N1CCNCC1", "C1CCNCC1",
    "C1CCCCC1", "CN1CCOCC1", "Cc1ccccc1", "OCc1ccccc1", "c1ccc(F)cc1"};

std::vector<std::unique_ptr<Draft>> read_groups() {
  std::vector<std::unique_ptr<Draft>> all;
  for (const std::string text : groups) {
    auto mol = parse(text == "N(=O)=O" ? "[N+](=O)[O-]" : text == "n1cccn1" ? "[nH]1cccn1" : text);
    RDKit::MolOps::Kekulize(*mol, true);
    for (auto atom : mol->atoms()) {
      atom->setNoImplicit(false);
      atom->setNumExplicitHs(0);
    }
    all.push_back(std::move(mol));
  }
  return all;
}

// Adds the atoms of a random group and returns the index of the first.
int add_group(Draft &mol, Random &random) {
  static const auto all = read_groups();
  const int first = mol.getNumAtoms();
  mol.insertMol(*all[random.below(all.size())]);
  return first;
}

// A random substituent: the atom that bears it, or -1 if both sides of the bond drawn are too large, and its atoms, the
// bonded one first.
struct Group {
  int bearer = -1;
  std::vector<int> atoms;
  Group(const Parent &p, size_t largest, Random &random) {
    if (p.single_chain.empty()) return;
    const auto *bond = p.mol->getBondWithIdx(p.single_chain[random.below(p.single_chain.size())]);
    int from = bond->getBeginAtomIdx(), to = bond->getEndAtomIdx();
    if (random.below(2)) std::swap(from, to);
    auto far = far_side(*p.mol, from, to);
    if (far.size() > largest) {
      std::swap(from, to);
      far = far_side(*p.mol, from, to);
    }
    if (far.size() > largest) return;
    bearer = from;
    atoms = far;
  }
};

}  // namespace

bool append_group(const Parent &p, Draft &mol, Random &random) {
  const int atom = random.below(p.size());
  if (p.fixed[atom] || !p.hydrogens[atom]) return false;
  connect(mol, atom, add_group(mol, random));
  return true;
}

bool replace_group(const Parent &p, Draft &mol, Random &random) {
  const Group group(p, kMaxGroup, random);
  if (group.bearer < 0) return false;
  substitute(*p.mol, mol, group.bearer, group.atoms[0], add_group(mol, random));
  remove(mol, group.atoms);
  return true;
}

bool delete_group(const Parent &p, Draft &mol, Random &random) {
  const Group group(p, kMaxGroup, random);
  if (group.bearer < 0) return false;
  mol.getAtomWithIdx(group.bearer)->setChiralTag(RDKit::Atom::CHI_UNSPECIFIED);
  remove(mol, group.atoms);
  return true;
}

// Moves a substituent to another atom of the ring or to a neighbour of its bearer.
bool move_group(const Parent &p, Draft &mol, Random &random) {
  const Group group(p, p.size(), random);
  if (group.bearer < 0) return false;
  std::vector<char> in_group(p.size());
  for (const int atom : group.atoms) in_group[atom] = 1;
  std::vector<int> places;
  const auto consider = [&](int atom) {
    if (atom != group.bearer && !in_group[atom] && !p.fixed[atom] && p.hydrogens[atom]) places.push_back(atom);
  };
  for (const auto &ring : p.mol->getRingInfo()->atomRings()) {
    if (std::find(ring.begin(), ring.end(), group.bearer) == ring.end()) continue;
    for (const int atom : ring) consider(atom);
  }
  for (const auto next : p.mol->atomNeighbors(p.mol->getAtomWithIdx(group.bearer))) consider(next->getIdx());
  if (places.empty()) return false;
  substitute(*p.mol, mol, group.atoms[0], group.bearer, places[random.below(places.size())]);
  mol.getAtomWithIdx(group.bearer)->setChiralTag(RDKit::Atom::CHI_UNSPECIFIED);
  mol.getAtomWithIdx(mol.getBondWithIdx(mol.getNumBonds() - 1)->getOtherAtomIdx(group.atoms[0]))
      ->setChiralTag(RDKit::Atom::CHI_UNSPECIFIED);
  return true;
}

bool cross(const Parent &first, const Parent &second, Draft &mol, Tried &tried, Random &random) {
  if (first.single_chain.empty() || second.single_chain.empty()) return false;
  const auto ends = [&](const Parent &p) {
    const auto *bond = p.mol->getBondWithIdx(p.single_chain[random.below(p.single_chain.size())]);
    std::pair<int, int> kept_lost{bond->getBeginAtomIdx(), bond->getEndAtomIdx()};
    if (random.below(2)) std::swap(kept_lost.first, kept_lost.second);
    return kept_lost;
  };
  const auto [a, a_lost] = ends(first);
  const auto [b, b_lost] = ends(second);
  if (!tried.insert({&first, a, a_lost, b, b_lost}).second) return false;
  const int offset = first.size();
  std::vector<char> kept(second.size());
  std::vector<int> lost = far_side(*first.mol, a, a_lost);
  const std::vector<int> gained = far_side(*second.mol, b_lost, b);
  const int max_atoms = std::max({kMaxAtoms, first.size(), second.size()});
  if (static_cast<int>(offset - lost.size() + gained.size()) > max_atoms) return false;
  for (const int atom : gained) kept[atom] = 1;
  for (int i = 0; i < second.size(); ++i) {
    if (!kept[i]) lost.push_back(offset + i);
  }
  mol = Draft(*first.mol);
  mol.insertMol(*second.mol);
  substitute(*first.mol, mol, a, a_lost, offset + b);
  keep_configuration(*second.mol, mol, b, b_lost, offset + b);
  remove(mol, lost);
  return true;
}

}  // namespace retort
