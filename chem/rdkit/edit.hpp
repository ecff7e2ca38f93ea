// Mutations and crossovers: preparation of the parents, checks of the offspring, and the calls.
#include "edit.h"
#include "scores.h"

#include <GraphMol/MolOps.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>

#include <algorithm>
#include <set>

namespace retort {
namespace {

using RDKit::Atom;
using RDKit::Bond;
using RDKit::ROMol;

bool organic(int element) {
  static const std::set<int> elements{5, 6, 7, 8, 9, 14, 15, 16, 17, 34, 35, 53};
  return elements.count(element);
}

// Makes the hydrogens of an atom implicit. Returns false, and changes nothing, if their number would change.
bool imply_hydrogens(Atom &atom) {
  const unsigned written = atom.getNumExplicitHs();
  const bool closed = atom.getNoImplicit();
  const unsigned before = atom.getTotalNumHs();
  atom.setNumExplicitHs(0);
  atom.setNoImplicit(false);
  try {
    atom.updatePropertyCache(true);
    if (atom.getTotalNumHs() == before) return true;
  } catch (const std::exception &) {
  }
  atom.setNumExplicitHs(written);
  atom.setNoImplicit(closed);
  atom.updatePropertyCache(false);
  return false;
}

int count_radicals(const ROMol &mol) {
  int count = 0;
  for (const auto atom : mol.atoms()) count += atom->getNumRadicalElectrons();
  return count;
}

// Marks atoms that were aromatic before a change.
const char *const kWasAromatic = "retort_aromatic";

// Removes the properties that RDKit computed of an atom or bond, and their list, so that a draft does not copy them and
// RDKit does not clear them for each atom that is removed.
void clear_computed(const RDKit::RDProps &properties) {
  properties.clearComputedProps();
  properties.clearProp(RDKit::detail::computedPropName);
}

bool ends_aromaticity(const ROMol &mol) {
  for (const auto atom : mol.atoms()) {
    if (!atom->getIsAromatic() && atom->hasProp(kWasAromatic)) return true;
  }
  return false;
}

}  // namespace

Parent::Parent(const std::string &text) : mol(parse(text)) {
  smiles = RDKit::MolToSmiles(*mol);
  radicals = count_radicals(*mol);
  oddities = retort::oddities(*mol);
  for (auto atom : mol->atoms()) {
    aromatic.push_back(atom->getIsAromatic());
    if (aromatic.back()) atom->setProp(kWasAromatic, 1);
  }
  RDKit::MolOps::Kekulize(*mol, true);
  for (auto atom : mol->atoms()) {
    bool free = organic(atom->getAtomicNum()) && !atom->getIsotope() && !atom->getNumRadicalElectrons();
    free = imply_hydrogens(*atom) && free && !atom->getAtomMapNum();
    fixed.push_back(!free);
    hydrogens.push_back(free ? atom->getTotalNumHs() : 0);
  }
  for (const auto atom : mol->atoms()) clear_computed(*atom);
  const auto *rings = mol->getRingInfo();
  for (const auto bond : mol->bonds()) {
    clear_computed(*bond);
    const bool chain = bond->getBondType() == Bond::SINGLE && !rings->numBondRings(bond->getIdx());
    if (chain && !fixed[bond->getBeginAtomIdx()] && !fixed[bond->getEndAtomIdx()]) {
      single_chain.push_back(bond->getIdx());
    }
  }
}

namespace {

// Reports whether a carbon has a double bond to an oxygen.
bool has_oxo(const ROMol &mol, const Atom &carbon) {
  for (const auto bond : mol.atomBonds(&carbon)) {
    if (bond->getBondType() == Bond::DOUBLE && bond->getOtherAtom(&carbon)->getAtomicNum() == 8) return true;
  }
  return false;
}

// Counts the oddities of one atom and its bonds.
int atom_oddities(const ROMol &mol, const Atom &atom, bool small_ring) {
  int doubles = 0;
  int triples = 0;
  int donors = 0;
  int nitrogens = 0;
  int hydroxyls = 0;
  int acyls = 0;
  int odd = 0;
  const int element = atom.getAtomicNum();
  for (const auto bond : mol.atomBonds(&atom)) {
    const Atom &other = *bond->getOtherAtom(&atom);
    const int next = other.getAtomicNum();
    const bool single = bond->getBondType() == Bond::SINGLE;
    doubles += bond->getBondType() == Bond::DOUBLE;
    triples += bond->getBondType() == Bond::TRIPLE;
    donors += single && (next == 7 || next == 8) && other.getTotalNumHs() > 0 && other.getDegree() == 1;
    nitrogens += single && next == 7;
    const bool halogen = next == 9 || next == 17 || next == 35 || next == 53;
    odd += halogen && (element == 7 || element == 8 || element == 16);
    odd += element == 8 && next == 8 && atom.getIdx() < other.getIdx();
    odd += single && element == 8 && next == 16 && other.getTotalDegree() == 2;
    odd += single && element == 8 && next == 7 && other.getDegree() == 1;
    odd += single && element == 7 && next == 16 && other.getDegree() == 1;
    hydroxyls += single && element == 7 && next == 8 && other.getDegree() == 1 && other.getTotalNumHs() > 0;
    acyls += next == 6 && has_oxo(mol, other);
  }
  if (element == 6) {
    odd += doubles > 1;
    odd += small_ring && (triples || doubles > 1);
    odd += atom.getTotalDegree() == 4 && donors > 1;
  }
  odd += hydroxyls && !doubles && !acyls;  // neither an oxime nor a hydroxamic acid
  return odd + (element == 7 && nitrogens > 1 && !atom.getIsAromatic());
}

// Reports whether an atom is a bridgehead of two small rings that share more than a bond. It cannot have a double bond
// (Bredt's rule).
bool is_bridgehead(const ROMol &mol, const Atom &atom) {
  const auto *rings = mol.getRingInfo();
  if (atom.getDegree() < 3 || rings->numAtomRings(atom.getIdx()) < 2) return false;
  const auto members = rings->atomMembers(atom.getIdx());
  for (size_t i = 0; i < members.size(); ++i) {
    const auto &one = rings->atomRings()[members[i]];
    for (size_t k = 0; k < i && one.size() <= 8; ++k) {
      const auto &other = rings->atomRings()[members[k]];
      if (other.size() > 8) continue;
      const auto in_one = [&](int a) { return std::find(one.begin(), one.end(), a) != one.end(); };
      if (std::count_if(other.begin(), other.end(), in_one) > 2) return true;
    }
  }
  return false;
}

}  // namespace

int oddities(const ROMol &mol) {
  const auto *rings = mol.getRingInfo();
  int odd = 0;
  for (const auto atom : mol.atoms()) {
    const unsigned ring = rings->numAtomRings(atom->getIdx()) ? rings->minAtomRingSize(atom->getIdx()) : 0;
    odd += atom_oddities(mol, *atom, ring && ring <= 8);
  }
  for (const auto bond : mol.bonds()) {
    if (bond->getBondType() == Bond::SINGLE || !rings->numBondRings(bond->getIdx())) continue;
    const unsigned ring = rings->minBondRingSize(bond->getIdx());
    odd += ring == 3 || (ring == 4 && !bond->getIsAromatic());
    for (const auto *end : {bond->getBeginAtom(), bond->getEndAtom()}) odd += is_bridgehead(mol, *end);
  }
  return odd;
}

int usual_valence(int element) {
  switch (element) {
    case 6: return 4;
    case 7: return 3;
    case 8: case 16: return 2;
    case 9: case 17: case 35: return 1;
    default: return 0;
  }
}

void connect(Draft &mol, int atom, int neighbour) {
  mol.addBond(atom, neighbour, Bond::SINGLE);
  mol.getAtomWithIdx(atom)->setChiralTag(Atom::CHI_UNSPECIFIED);
  mol.getAtomWithIdx(neighbour)->setChiralTag(Atom::CHI_UNSPECIFIED);
}

void keep_configuration(const ROMol &before, Draft &mol, int from, int old, int atom) {
  // A configuration is the sense of rotation of the bonds in their order. The new bond is the last one, so it changes
  // places with each bond after the old one.
  int later = 0;
  bool found = false;
  for (const auto bond : before.atomBonds(before.getAtomWithIdx(from))) {
    later += found;
    found |= static_cast<int>(bond->getOtherAtomIdx(from)) == old;
  }
  if (later % 2) mol.getAtomWithIdx(atom)->invertChirality();
}

void substitute(const ROMol &before, Draft &mol, int atom, int old, int neighbour) {
  mol.removeBond(atom, old);
  mol.addBond(atom, neighbour, Bond::SINGLE);
  keep_configuration(before, mol, atom, old, atom);
}

std::vector<int> far_side(const ROMol &mol, int from, int to) {
  std::vector<char> seen(mol.getNumAtoms());
  seen[from] = seen[to] = 1;
  std::vector<int> atoms{to};
  for (size_t i = 0; i < atoms.size(); ++i) {
    for (const auto next : mol.atomNeighbors(mol.getAtomWithIdx(atoms[i]))) {
      if (seen[next->getIdx()]++) continue;
      atoms.push_back(next->getIdx());
    }
  }
  return atoms;
}

void remove(Draft &mol, const std::vector<int> &atoms) {
  mol.beginBatchEdit();
  for (const int atom : atoms) mol.removeAtom(atom);
  mol.commitBatchEdit();
}

namespace {

constexpr size_t kMaxText = 512;  // upper bound of the SMILES of offspring, in bytes

// Reports whether an atom or bond of a molecule has a configuration or a direction.
bool has_configuration(const ROMol &mol) {
  for (const auto atom : mol.atoms()) {
    if (atom->getChiralTag() != Atom::CHI_UNSPECIFIED) return true;
  }
  for (const auto bond : mol.bonds()) {
    if (bond->getStereo() != Bond::STEREONONE || bond->getBondDir() != Bond::NONE) return true;
  }
  return false;
}

// Sanitises a draft. It skips what a draft has already (Kekule bonds) or only configurations need (hybridisation).
void sanitize(Draft &mol) {
  using namespace RDKit::MolOps;
  unsigned skipped = SANITIZE_KEKULIZE;
  if (!has_configuration(mol)) skipped |= SANITIZE_SETCONJUGATION | SANITIZE_SETHYBRIDIZATION;
  unsigned failed;
  sanitizeMol(mol, failed, SANITIZE_ALL & ~skipped);
  refuse_valences(mol);
}

// Reports whether RDKit finds the same rings in any order of the atoms: no two share more than a bond, and no atom is
// in more than two.
bool has_plain_rings(const ROMol &mol) {
  const auto *info = mol.getRingInfo();
  for (const auto atom : mol.atoms()) {
    if (info->numAtomRings(atom->getIdx()) > 2) return false;
  }
  const auto &rings = info->atomRings();
  for (size_t i = 0; i < rings.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      const auto shared = [&](int a) { return std::find(rings[k].begin(), rings[k].end(), a) != rings[k].end(); };
      if (std::count_if(rings[i].begin(), rings[i].end(), shared) > 2) return false;
    }
  }
  return true;
}

// Reports whether a sanitised draft has the canonical SMILES and the facts that it would have after it is written as
// SMILES and read again. Reading removes hydrogens, may find other rings, and keeps only tetrahedral configurations.
bool is_as_read(const ROMol &mol) {
  for (const auto atom : mol.atoms()) {
    if (atom->getAtomicNum() == 1 || atom->getChiralTag() > Atom::CHI_TETRAHEDRAL_CCW) return false;
  }
  return has_plain_rings(mol);
}

struct Child {
  std::string smiles;  // canonical; "" if there is no child
  std::string facts;   // see write_facts
};

// Finishes a draft. There is no child if RDKit refuses the molecule, it has more unpaired electrons or more oddities
// than allowed, its text is too long, or it was seen before.
Child finish(Draft &draft, int radicals, int odd, std::set<std::string> &seen) {
  Child child;
  Failure failure;
  run_guarded(failure, [&] {
    sanitize(draft);
    if (count_radicals(draft) > radicals || oddities(draft) > odd) return;
    if (has_configuration(draft)) RDKit::MolOps::assignStereochemistry(draft, true, true);
    std::string canonical = RDKit::MolToSmiles(draft);
    std::unique_ptr<Draft> read;
    if (!is_as_read(draft)) {
      read = parse(canonical);
      canonical = RDKit::MolToSmiles(*read);
    }
    if (canonical.size() > kMaxText || !seen.insert(canonical).second) return;
    child.facts = write_facts(read ? *read : draft);
    child.smiles = canonical;
  });
  return child;
}

// Writes up to count distinct molecules of at most max_atoms atoms. The number of attempts is in proportion to count.
template <typename Change>
void collect(int32_t count, int max_atoms, int radicals, int odd, std::set<std::string> &seen,
             Random &random, std::string &out, const Change &change) {
  for (int attempts = 6 * count + 24; count > 0 && attempts > 0; --attempts) {
    Draft mol;
    if (!change(mol)) continue;
    if (static_cast<int>(mol.getNumAtoms()) > max_atoms || !mol.getNumAtoms()) continue;
    const Child child = finish(mol, radicals, odd, seen);
    // A change that ends aromaticity is rarely wanted: one in eight stays.
    if (child.smiles.empty() || (ends_aromaticity(mol) && random.below(8))) continue;
    put(out, child.smiles);
    put(out, child.facts);
    --count;
  }
}

}  // namespace
}  // namespace retort

struct retort_parent {
  retort::Parent parent;
};

extern "C" retort_parent *retort_parent_new(const char *smiles, size_t size, retort_answer *failure) {
  retort_parent *parent = nullptr;
  *failure = retort::respond([&](std::string &) {
    parent = new retort_parent{retort::Parent(std::string(smiles, size))};
  });
  return parent;
}

extern "C" void retort_parent_free(retort_parent *parent) { delete parent; }

extern "C" retort_answer retort_mutations(const retort_parent *handle, int32_t count, int32_t stereo, uint64_t seed) {
  using namespace retort;
  return respond([&](std::string &out) {
    const Parent &parent = handle->parent;
    std::set<std::string> seen{parent.smiles};
    Random random{seed};
    const int max_atoms = std::max(kMaxAtoms, parent.size());
    collect(count, max_atoms, parent.radicals, parent.oddities, seen, random, out, [&](Draft &mol) {
      mol = Draft(*parent.mol);
      return stereo ? change_stereo(parent, mol, random) : mutate(parent, mol, random);
    });
  });
}

extern "C" retort_answer retort_crossovers(const retort_parent *first, const retort_parent *second, int32_t count,
                                           uint64_t seed) {
  using namespace retort;
  return respond([&](std::string &out) {
    const Parent &one = first->parent;
    const Parent &two = second->parent;
    std::set<std::string> seen{one.smiles, two.smiles};
    Random random{seed};
    const int radicals = std::max(one.radicals, two.radicals);
    const int odd = std::max(one.oddities, two.oddities);
    Tried tried;
    const int max_atoms = std::max({kMaxAtoms, one.size(), two.size()});
    collect(count, max_atoms, radicals, odd, seen, random, out, [&](Draft &mol) {
      return random.below(2) ? cross(one, two, mol, tried, random) : cross(two, one, mol, tried, random);
    });
  });
}
