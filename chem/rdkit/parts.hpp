// Parts of molecules: components, halves, open positions and fragments written from their dummies.
#include <GraphMol/ChemTransforms/MolFragmenter.h>
#include <GraphMol/Descriptors/MolDescriptors.h>
#include <GraphMol/MolOps.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>
#include <RDGeneral/types.h>

#include <tuple>

#include "molecule.h"

using retort::respond;
using retort::parse;

extern "C" retort_answer retort_largest(const char *smiles, size_t size) {
  return respond([&](std::string &out) {
    const auto mol = parse(std::string(smiles, size));
    std::tuple<int, double, std::string> best{1, 0, ""};
    for (const auto &part : RDKit::MolOps::getMolFrags(*mol)) {
      const std::tuple<int, double, std::string> key{-static_cast<int>(part->getNumHeavyAtoms()),
                                                     -RDKit::Descriptors::calcAMW(*part),
                                                     RDKit::MolToSmiles(*part)};
      if (key < best) best = key;
    }
    out = std::get<2>(best);
  });
}

extern "C" retort_answer retort_open(const char *smiles, size_t size, int32_t count, uint64_t seed) {
  return respond([&](std::string &out) {
    const auto mol = parse(std::string(smiles, size));
    std::vector<int> open;
    for (const auto atom : mol->atoms()) {
      bool taken = atom->getAtomicNum() == 0 || atom->getTotalNumHs() == 0;
      for (const auto next : mol->atomNeighbors(atom)) taken |= next->getAtomicNum() == 0;
      if (!taken) open.push_back(atom->getIdx());
    }
    retort::Random random{seed};
    for (; count > 0 && !open.empty(); --count) {
      const size_t i = random.below(open.size());
      RDKit::Atom dummy(0);
      auto *atom = mol->getAtomWithIdx(open[i]);
      if (atom->getNumExplicitHs()) atom->setNumExplicitHs(atom->getNumExplicitHs() - 1);
      mol->addBond(open[i], mol->addAtom(&dummy), RDKit::Bond::SINGLE);
      open.erase(open.begin() + i);
    }
    RDKit::MolOps::sanitizeMol(*mol);
    out = RDKit::MolToSmiles(*mol);
  });
}

extern "C" retort_answer retort_halves(const char *smiles, size_t size, int32_t count, uint64_t seed) {
  return respond([&](std::string &out) {
    const auto mol = parse(std::string(smiles, size));
    const auto *rings = mol->getRingInfo();
    std::vector<unsigned> bonds;
    for (const auto bond : mol->bonds()) {
      if (bond->getBondType() == RDKit::Bond::SINGLE && !rings->numBondRings(bond->getIdx())) {
        bonds.push_back(bond->getIdx());
      }
    }
    retort::Random random{seed};
    const std::vector<std::pair<unsigned, unsigned>> labels{{1, 1}};
    for (; count > 0 && !bonds.empty(); --count) {
      const size_t i = random.below(bonds.size());
      const std::unique_ptr<RDKit::ROMol> cut(
          RDKit::MolFragmenter::fragmentOnBonds(*mol, {bonds[i]}, true, &labels));
      retort::put(out, RDKit::MolToSmiles(*cut));
      bonds.erase(bonds.begin() + i);
    }
  });
}

extern "C" retort_answer retort_rooted(const char *smiles, size_t size) {
  return respond([&](std::string &out) {
    const auto mol = parse(std::string(smiles, size), false);
    std::vector<unsigned> labels(mol->getNumAtoms());
    for (auto atom : mol->atoms()) {
      if (atom->getAtomicNum()) continue;
      labels[atom->getIdx()] = atom->getIsotope();
      atom->setIsotope(0);  // labels must not affect the order of atoms
    }
    for (unsigned root = 0; root < labels.size(); ++root) {
      if (mol->getAtomWithIdx(root)->getAtomicNum()) continue;
      retort::put(out, RDKit::MolToSmiles(*mol, true, false, root));
      std::string order;
      for (const auto atom : mol->getProp<std::vector<unsigned>>(RDKit::common_properties::_smilesAtomOutputOrder)) {
        if (!mol->getAtomWithIdx(atom)->getAtomicNum()) order += std::to_string(labels[atom]) + " ";
      }
      retort::put(out, order);
    }
  });
}
