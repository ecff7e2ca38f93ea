// Changes of substituents, and crossover.
#include "edit.h"

#include <GraphMol/MolOps.h>

#include <algorithm>

namespace retort {
namespace {

using RDKit::Bond;

// The largest substituent that is replaced, deleted or moved, in atoms.
constexpr size_t kLargestGroup = 8;

// Groups of medicinal chemistry, bonded by their first atom; the small ones more often.
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

// Adds the atoms of a random group and gives the index of the first.
int add_group(Draft &mol, Random &random) {
  static const auto all = read_groups();
  const int first = mol.getNumAtoms();
  mol.insertMol(*all[random.below(all.size())]);
  return first;
}

// A bond to a substituent: the atom that bears it, and its atoms, the bonded one first. Empty where the bond drawn has
// none that is small enough.
struct Group {
  int bearer = -1;
  std::vector<int> atoms;
  Group(const Parent &p, size_t largest, Random &random) {
    if (p.single_chain.empty()) return;
    const auto *bond = p.mol->getBondWithIdx(p.single_chain[random.below(p.single_chain.size())]);
    int from = bond->getBeginAtomIdx(), to = bond->getEndAtomIdx();
    if (random.below(2)) std::swap(from, to);
    auto far = beyond(*p.mol, from, to);
    if (far.size() > largest) {
      std::swap(from, to);
      far = beyond(*p.mol, from, to);
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
  const Group group(p, kLargestGroup, random);
  if (group.bearer < 0) return false;
  substitute(*p.mol, mol, group.bearer, group.atoms[0], add_group(mol, random));
  remove(mol, group.atoms);
  return true;
}

bool delete_group(const Parent &p, Draft &mol, Random &random) {
  const Group group(p, kLargestGroup, random);
  if (group.bearer < 0) return false;
  mol.getAtomWithIdx(group.bearer)->setChiralTag(RDKit::Atom::CHI_UNSPECIFIED);
  remove(mol, group.atoms);
  return true;
}

// Moves a substituent to another atom of the ring, or to an atom beside its bearer.
bool move_group(const Parent &p, Draft &mol, Random &random) {
  const Group group(p, p.size(), random);
  if (group.bearer < 0) return false;
  std::vector<char> own(p.size());
  for (const int atom : group.atoms) own[atom] = 1;
  std::vector<int> places;
  const auto consider = [&](int atom) {
    if (atom != group.bearer && !own[atom] && !p.fixed[atom] && p.hydrogens[atom]) places.push_back(atom);
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
  std::vector<int> lost = beyond(*first.mol, a, a_lost);
  const std::vector<int> gained = beyond(*second.mol, b_lost, b);
  const int most = std::max({kMostAtoms, first.size(), second.size()});
  if (static_cast<int>(offset - lost.size() + gained.size()) > most) return false;
  for (const int atom : gained) kept[atom] = 1;
  for (int i = 0; i < second.size(); ++i) {
    if (!kept[i]) lost.push_back(offset + i);
  }
  mol = Draft(*first.mol);
  mol.insertMol(*second.mol);
  substitute(*first.mol, mol, a, a_lost, offset + b);
  renew(*second.mol, mol, b, b_lost, offset + b);
  remove(mol, lost);
  return true;
}

}  // namespace retort
