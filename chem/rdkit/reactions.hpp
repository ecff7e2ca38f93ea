// Disconnects molecules by retrosynthetic reaction templates.
#include <GraphMol/ChemReactions/Reaction.h>
#include <GraphMol/ChemReactions/ReactionParser.h>
#include <GraphMol/MolOps.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>

#include <algorithm>
#include <set>
#include <vector>

#include "molecule.h"

struct retort_reactions {
  std::vector<std::unique_ptr<RDKit::ChemicalReaction>> templates;
};

namespace retort {
namespace {

// Upper bound of the sets of precursors of one template. A drug-like molecule has up to about ten.
constexpr unsigned kMaxSets = 64;

std::unique_ptr<RDKit::ChemicalReaction> compile(const std::string &smarts) {
  std::unique_ptr<RDKit::ChemicalReaction> reaction(RDKit::RxnSmartsToChemicalReaction(smarts));
  if (!reaction || reaction->getNumReactantTemplates() != 1) {
    throw Refusal(RETORT_SYNTAX, "not a reaction with one reactant: " + smarts);
  }
  reaction->initReactantMatchers(true);
  unsigned warnings = 0;
  unsigned errors = 0;
  if (!reaction->validate(warnings, errors, true)) throw Refusal(RETORT_SYNTAX, "not a valid reaction: " + smarts);
  return reaction;
}

// Makes the hydrogens of neutral chain atoms implicit: their number changes where a bond was cut.
void imply_hydrogens(RDKit::ROMol &mol) {
  for (auto atom : mol.atoms()) {
    const int element = atom->getAtomicNum();
    const bool usual = element == 6 || element == 7 || element == 8 || element == 16;
    if (!usual || atom->getIsAromatic() || atom->getFormalCharge()) continue;
    atom->setNumExplicitHs(0);
    atom->setNoImplicit(false);
  }
}

// Returns the canonical SMILES of a precursor without its configuration, or "" if it is not one stable molecule.
std::string write_precursor(const RDKit::ROMol &drawn) {
  std::string smiles;
  Failure failure;
  run_guarded(failure, [&] {
    RDKit::RWMol mol(drawn);
    imply_hydrogens(mol);
    RDKit::MolOps::sanitizeMol(mol);
    for (const auto atom : mol.atoms()) {
      if (atom->getNumRadicalElectrons()) return;
    }
    smiles = RDKit::MolToSmiles(mol);
  });
  return smiles.find('.') == std::string::npos ? smiles : "";
}

// Returns the sorted precursors of one outcome separated by dots, or "" if one of them is not stable.
std::string join_precursors(const RDKit::MOL_SPTR_VECT &outcome) {
  std::vector<std::string> all;
  for (const auto &precursor : outcome) {
    all.push_back(write_precursor(*precursor));
    if (all.back().empty()) return "";
  }
  std::sort(all.begin(), all.end());
  std::string joined;
  for (const auto &smiles : all) joined += (joined.empty() ? "" : ".") + smiles;
  return joined;
}

std::unique_ptr<RDKit::RWMol> parse_flat(const std::string &smiles) {
  auto mol = parse(smiles);
  RDKit::MolOps::removeStereochemistry(*mol);
  for (auto atom : mol->atoms()) atom->setAtomMapNum(0);
  return mol;
}

}  // namespace
}  // namespace retort

extern "C" retort_reactions *retort_reactions_new(const char *text, const uint32_t *ends, int32_t n,
                                                  retort_answer *failure) {
  std::unique_ptr<retort_reactions> reactions(new retort_reactions);
  *failure = retort::respond([&](std::string &) {
    for (int32_t i = 0; i < n; ++i) {
      const uint32_t from = i ? ends[i - 1] : 0;
      reactions->templates.push_back(retort::compile(std::string(text + from, ends[i] - from)));
    }
  });
  return failure->status == RETORT_OK ? reactions.release() : nullptr;
}

extern "C" void retort_reactions_free(retort_reactions *reactions) { delete reactions; }

extern "C" retort_answer retort_precursors(const retort_reactions *reactions, const char *smiles, size_t size) {
  using namespace retort;
  return respond([&](std::string &out) {
    const RDKit::ROMOL_SPTR product(parse_flat(std::string(smiles, size)).release());
    std::set<std::string> seen;
    for (size_t i = 0; i < reactions->templates.size(); ++i) {
      for (const auto &outcome : reactions->templates[i]->runReactants({product}, kMaxSets)) {
        const std::string precursors = join_precursors(outcome);
        if (precursors.empty() || !seen.insert(precursors).second) continue;
        put(out, std::to_string(i));
        put(out, precursors);
      }
    }
  });
}

extern "C" retort_answer retort_flat(const char *smiles, size_t size) {
  using namespace retort;
  return respond([&](std::string &out) { out = RDKit::MolToSmiles(*parse_flat(std::string(smiles, size))); });
}
