// The parts of SAFE that need a molecule; the text work is Go's (package chem, safe.go).
#include <GraphMol/Chirality.h>
#include <GraphMol/ChemTransforms/ChemTransforms.h>
#include <GraphMol/ChemTransforms/MolFragmenter.h>
#include <GraphMol/MolOps.h>
#include <GraphMol/SanitException.h>
#include <GraphMol/SmilesParse/SmilesParse.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "brics.h"

namespace retort {
namespace {

using RDKit::Bond;
using RDKit::ROMol;
using RDKit::RWMol;
using Molecule = std::unique_ptr<ROMol>;

// Equal for equal molecules, whatever the atom maps and the labels of dummies.
std::string graph_key(const ROMol &mol) {
  const std::unique_ptr<RWMol> bare(new RWMol(mol));
  RDKit::MolOps::removeHs(*bare, false, true);
  for (auto atom : bare->atoms()) {
    atom->setAtomMapNum(0);
    if (atom->getAtomicNum() == 0) atom->setIsotope(0);
  }
  return RDKit::MolToSmiles(*bare);
}

bool has_stereo(const ROMol &mol) {
  for (const auto atom : mol.atoms()) {
    if (atom->getChiralTag() != RDKit::Atom::CHI_UNSPECIFIED) return true;
  }
  for (const auto bond : mol.bonds()) {
    if (bond->getStereo() != Bond::STEREONONE) return true;
  }
  return false;
}

std::unique_ptr<RWMol> shuffled(const ROMol &mol, uint64_t seed) {
  std::vector<unsigned> order(mol.getNumAtoms());
  std::iota(order.begin(), order.end(), 0);
  Random random{seed};
  for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  const Molecule renumbered(RDKit::MolOps::renumberAtoms(mol, order));
  return std::make_unique<RWMol>(*renumbered);
}

std::vector<unsigned> bonds_matching(const Graph &g, const ROMol &mol, int slicer) {
  std::vector<unsigned> bonds;
  if (slicer == RETORT_SLICE_BRICS) {
    for (const auto &b : brics_bonds(g)) {
      bonds.push_back(mol.getBondBetweenAtoms(b.begin, b.end)->getIdx());
    }
  } else if (slicer != RETORT_SLICE_NONE) {
    for (const auto bond : mol.bonds()) {
      const bool single = bond->getBondType() == Bond::SINGLE &&
                          !mol.getRingInfo()->numBondRings(bond->getIdx());
      const auto inner = [&](const RDKit::Atom *a) {
        bool triple = false;
        for (const auto b : mol.atomBonds(a)) triple |= b->getBondType() == Bond::TRIPLE;
        return a->getDegree() > 1 && !triple;
      };
      if (single && (slicer == RETORT_SLICE_SINGLE ||
                     (inner(bond->getBeginAtom()) && inner(bond->getEndAtom())))) {
        bonds.push_back(bond->getIdx());
      }
    }
  }
  return bonds;
}

// Which double bonds and atoms have a given configuration.
struct Stereo {
  std::set<unsigned> bonds, atoms;
  explicit Stereo(const ROMol &mol) {
    namespace C = RDKit::Chirality;
    for (const auto &s : C::findPotentialStereo(mol)) {
      if (s.specified != C::StereoSpecified::Specified) continue;
      (s.type == C::StereoType::Bond_Double ? bonds : atoms).insert(s.centeredOn);
    }
  }
};

// A cut that would lose or change a configuration, because the fragments are written one by one:
// through a double bond that has one, or any multiple bond beside one; through the single bond
// between two of them, whose mark both share; at a stereocentre other than carbon.
bool harms(const Stereo &stereo, const ROMol &mol, const Bond &bond) {
  if (bond.getStereo() != Bond::STEREONONE) return true;
  const bool single = bond.getBondType() == Bond::SINGLE;
  if (!single) return !stereo.bonds.empty();
  std::set<unsigned> beside;
  for (const auto *atom : {bond.getBeginAtom(), bond.getEndAtom()}) {
    if (atom->getAtomicNum() != 6 && stereo.atoms.count(atom->getIdx())) return true;
    for (const auto other : mol.atomBonds(atom)) {
      if (stereo.bonds.count(other->getIdx())) beside.insert(other->getIdx());
    }
  }
  return beside.size() > 1;
}

// Numbers the dummies already there 1, 2, ... as isotopes; terminal ones are open positions.
std::string label_dummies(RWMol &mol, int &next) {
  std::string open;
  for (auto atom : mol.atoms()) {
    if (atom->getAtomicNum()) continue;
    if (atom->getDegree() == 1) open += std::to_string(next) + " ";
    atom->setAtomMapNum(0);
    atom->setIsotope(next++);
  }
  return open;
}

std::string written(const ROMol &fragment) {
  int root = -1;
  for (const auto atom : fragment.atoms()) {
    if (atom->getAtomicNum()) {
      root = atom->getIdx();
      break;
    }
  }
  return RDKit::MolToSmiles(fragment, true, false, root);
}

void cut(const std::string &smiles, int slicer, uint32_t flags, uint64_t seed, std::string &out) {
  const auto source = parse(smiles, false);
  const bool shuffle = flags & RETORT_SHUFFLE_ATOMS;
  const std::string text = shuffle ? RDKit::MolToSmiles(*shuffled(*source, seed), true, false, -1, false)
                                   : RDKit::MolToSmiles(*source);
  auto mol = parse_other(text, false);
  const bool keep_stereo = !(flags & RETORT_DROP_STEREO);
  if (!keep_stereo) RDKit::MolOps::removeStereochemistry(*mol);
  int next = 1;
  const std::string open = label_dummies(*mol, next);
  auto bonds = bonds_matching(Graph(*mol), *mol, slicer);
  const size_t found = bonds.size();
  if (keep_stereo && !(flags & RETORT_FREE_CUTS) && !bonds.empty()) {
    const Stereo stereo(*mol);
    bonds.erase(std::remove_if(bonds.begin(), bonds.end(), [&](unsigned b) {
                  return harms(stereo, *mol, *mol->getBondWithIdx(b));
                }), bonds.end());
  }
  std::vector<std::pair<unsigned, unsigned>> labels;
  for (size_t i = 0; i < bonds.size(); ++i) labels.push_back({next + i, next + i});
  Molecule pieces(bonds.empty() ? new ROMol(*mol)
                                : RDKit::MolFragmenter::fragmentOnBonds(*mol, bonds, true, &labels));
  put(out, text);
  put(out, keep_stereo && has_stereo(*source) ? graph_key(*source) : "");
  put(out, open);
  put(out, std::to_string(found));
  for (const auto &piece : RDKit::MolOps::getMolFrags(*pieces)) {
    put(out, std::to_string(piece->getNumAtoms()) + " " + written(*piece));
  }
}

// Replaces each dummy by hydrogen. A dummy at the end of a multiple bond, where a hydrogen cannot
// be, becomes carbon, as in the published decoder.
Molecule without_dummies(const ROMol &mol) {
  static const Molecule terminal(RDKit::SmartsToMol("[$([#0]!-!:*);$([#0;D1])]"));
  static const Molecule carbon(RDKit::SmilesToMol("C")), dummy(RDKit::SmilesToMol("*"));
  static const Molecule hydrogen([] {
    RDKit::SmilesParserParams params;
    params.removeHs = false;
    return RDKit::SmilesToMol("[H]", params);
  }());
  const ROMol query(*terminal);  // matching writes into recursive queries
  const auto first = RDKit::replaceSubstructs(mol, query, *carbon, true);
  try {
    const auto second = RDKit::replaceSubstructs(*first[0], *dummy, *hydrogen, true);
    return Molecule(RDKit::MolOps::removeHs(*second[0]));
  } catch (const RDKit::MolSanitizeException &) {
    return Molecule(RDKit::deleteSubstructs(*first[0], *dummy));
  }
}

void join(const std::string &smiles, bool drop_dummies, std::string &out) {
  std::unique_ptr<RWMol> mol = parse(smiles);
  bool dummies = false;
  for (const auto atom : mol->atoms()) dummies |= atom->getAtomicNum() == 0;
  if (dummies && drop_dummies) {
    const Molecule closed = without_dummies(*mol);
    mol = parse_other(RDKit::MolToSmiles(*closed));
  }
  for (auto atom : mol->atoms()) {  // [*:5] becomes [5*]
    if (atom->getAtomicNum() || !atom->getAtomMapNum()) continue;
    atom->setIsotope(atom->getAtomMapNum());
    atom->setAtomMapNum(0);
  }
  put(out, RDKit::MolToSmiles(*mol));
  put(out, graph_key(*mol));
}

}  // namespace
}  // namespace retort

extern "C" retort_answer retort_cut(const char *smiles, size_t size, int32_t slicer,
                                    uint32_t flags, uint64_t seed) {
  return retort::answered([&](std::string &out) {
    retort::cut(std::string(smiles, size), slicer, flags, seed, out);
  });
}

extern "C" retort_answer retort_join(const char *smiles, size_t size, int32_t drop_dummies) {
  return retort::answered([&](std::string &out) {
    retort::join(std::string(smiles, size), drop_dummies != 0, out);
  });
}
