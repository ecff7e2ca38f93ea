// The parts of SAFE that need a molecule. Package chem/safe does the work on text.
#include <GraphMol/Chirality.h>
#include <GraphMol/ChemTransforms/ChemTransforms.h>
#include <GraphMol/ChemTransforms/MolFragmenter.h>
#include <GraphMol/MolOps.h>
#include <GraphMol/SanitException.h>
#include <GraphMol/SmilesParse/SmilesParse.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>

#include <algorithm>
#include <set>

#include "brics.h"

namespace retort {
namespace {

using RDKit::Bond;
using RDKit::ROMol;
using RDKit::RWMol;
using Molecule = std::unique_ptr<ROMol>;

// Returns a text that is equal for equal molecules, whatever the atom maps and the labels of their dummies.
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

std::vector<unsigned> bonds_to_cut(const ROMol &mol, int slicer) {
  if (slicer == RETORT_SLICE_BRICS) return brics_bonds(Graph(mol));
  std::vector<unsigned> bonds;
  if (slicer == RETORT_SLICE_NONE) return bonds;
  for (const auto bond : mol.bonds()) {
    const bool in_ring = mol.getRingInfo()->numBondRings(bond->getIdx());
    if (bond->getBondType() == Bond::SINGLE && !in_ring) bonds.push_back(bond->getIdx());
  }
  return bonds;
}

// The double bonds and atoms with a specified configuration.
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

// Reports whether a cut would lose or change a configuration, because each fragment is written on its own. This holds
// for a double bond with a configuration and for any multiple bond next to one, for a single bond between two such
// double bonds, which share its direction mark, and for bonds at stereocentres other than carbon.
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

// Labels the molecule's dummies 1, 2, ... by isotope. Returns the labels of terminal dummies, which are open positions.
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

// Writes a fragment from its first atom that is not a dummy.
std::string write_fragment(const ROMol &fragment) {
  int root = -1;
  for (const auto atom : fragment.atoms()) {
    if (atom->getAtomicNum()) {
      root = atom->getIdx();
      break;
    }
  }
  return RDKit::MolToSmiles(fragment, true, false, root);
}

void cut(const std::string &smiles, int slicer, std::string &out) {
  const auto source = parse(smiles, false);
  const std::string text = RDKit::MolToSmiles(*source);
  auto mol = parse_other(text, false);
  int next = 1;
  const std::string open = label_dummies(*mol, next);
  auto bonds = bonds_to_cut(*mol, slicer);
  if (!bonds.empty()) {
    const Stereo stereo(*mol);
    const auto harmful = [&](unsigned b) { return harms(stereo, *mol, *mol->getBondWithIdx(b)); };
    bonds.erase(std::remove_if(bonds.begin(), bonds.end(), harmful), bonds.end());
  }
  std::vector<std::pair<unsigned, unsigned>> labels;
  for (size_t i = 0; i < bonds.size(); ++i) labels.push_back({next + i, next + i});
  Molecule pieces(bonds.empty() ? new ROMol(*mol)
                                : RDKit::MolFragmenter::fragmentOnBonds(*mol, bonds, true, &labels));
  put(out, text);
  put(out, has_stereo(*source) ? graph_key(*source) : "");
  put(out, open);
  for (const auto &piece : RDKit::MolOps::getMolFrags(*pieces)) {
    put(out, std::to_string(piece->getNumAtoms()) + " " + write_fragment(*piece));
  }
}

// Replaces each dummy with hydrogen. At the end of a multiple bond, which hydrogen cannot form, a dummy becomes carbon,
// as in the published decoder.
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

extern "C" retort_answer retort_cut(const char *smiles, size_t size, int32_t slicer) {
  return retort::respond([&](std::string &out) { retort::cut(std::string(smiles, size), slicer, out); });
}

extern "C" retort_answer retort_join(const char *smiles, size_t size, int32_t drop_dummies) {
  return retort::respond([&](std::string &out) {
    retort::join(std::string(smiles, size), drop_dummies != 0, out);
  });
}
