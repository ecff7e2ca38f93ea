#include "molecule.h"

#include <GraphMol/MolOps.h>
#include <GraphMol/SanitException.h>
#include <GraphMol/SmilesParse/SmilesParse.h>
#include <RDGeneral/RDLog.h>
#include <RDGeneral/versions.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace retort {
namespace {

// Turns off RDKit's log, which reports every refused molecule on stderr. Statuses carry the same facts.
void silence() {
  static std::once_flag once;
  std::call_once(once, [] {
    RDLog::InitLogs();
    boost::logging::disable_logs("rdApp.*");
  });
}

// Converts an error of RDKit. The atom is an index into the molecule that RDKit sanitised.
Refusal refusal_of(const RDKit::MolSanitizeException &e) {
  Refusal r(RETORT_FAILED, e.what());
  if (dynamic_cast<const RDKit::AtomValenceException *>(&e)) {
    r.status = RETORT_VALENCE;
  } else if (dynamic_cast<const RDKit::AtomKekulizeException *>(&e) ||
             dynamic_cast<const RDKit::KekulizeException *>(&e)) {
    r.status = RETORT_KEKULIZE;
  }
  if (auto *at = dynamic_cast<const RDKit::AtomSanitizeException *>(&e)) {
    r.atom = static_cast<int>(at->getAtomIdx());
  } else if (auto *some = dynamic_cast<const RDKit::KekulizeException *>(&e)) {
    if (!some->getAtomIndices().empty()) {
      r.atom = static_cast<int>(some->getAtomIndices().front());
    }
  }
  return r;
}

// Returns the highest valence that newer versions of RDKit allow a neutral atom of an element for which this version
// allows more. A charged atom has the limit of the neutral element with the same number of electrons.
int max_valence(int element) {
  switch (element) {
    case 13: return 3;           // Al
    case 14: return 4;           // Si
    case 15: case 33: return 5;  // P, As
    default: return INT_MAX;
  }
}

}  // namespace

void refuse_valences(const RDKit::ROMol &mol) {
  for (const auto *atom : mol.atoms()) {
    const int valence = atom->getTotalValence();
    const int limit = max_valence(atom->getAtomicNum());
    if (limit == INT_MAX || valence <= limit - atom->getFormalCharge()) continue;
    const std::string index = std::to_string(atom->getIdx());
    throw RDKit::AtomValenceException("Explicit valence for atom # " + index + " " + atom->getSymbol() + ", " +
                                          std::to_string(valence) + ", is greater than permitted",
                                      atom->getIdx());
  }
}

namespace {

// Sanitises the molecule with all its hydrogens, so that errors name atoms in the order written.
void sanitize_as_written(const std::string &smiles, RDKit::SmilesParserParams params) {
  params.sanitize = params.removeHs = false;
  const std::unique_ptr<RDKit::RWMol> mol(RDKit::SmilesToMol(smiles, params));
  if (!mol) return;
  RDKit::MolOps::sanitizeMol(*mol);
  refuse_valences(*mol);
}

std::unique_ptr<RDKit::RWMol> read(const std::string &smiles, const RDKit::SmilesParserParams &params) {
  std::unique_ptr<RDKit::RWMol> mol(RDKit::SmilesToMol(smiles, params));
  if (!mol) throw Refusal(RETORT_SYNTAX, "not a SMILES string");
  refuse_valences(*mol);
  return mol;
}

}  // namespace

std::unique_ptr<RDKit::RWMol> parse(const std::string &smiles, bool remove_hs) {
  silence();
  RDKit::SmilesParserParams params;
  params.allowCXSMILES = false;
  params.parseName = false;
  params.removeHs = remove_hs;
  std::unique_ptr<RDKit::RWMol> mol;
  try {
    mol = read(smiles, params);
  } catch (const RDKit::MolSanitizeException &e) {
    try {
      sanitize_as_written(smiles, params);
    } catch (const RDKit::MolSanitizeException &as_written) {
      throw refusal_of(as_written);
    }
    throw Refusal(refusal_of(e).status, e.what());
  }
  if (mol->getNumAtoms() == 0) throw Refusal(RETORT_EMPTY, "no atoms");
  return mol;
}

std::unique_ptr<RDKit::RWMol> parse_other(const std::string &smiles, bool remove_hs) {
  try {
    return parse(smiles, remove_hs);
  } catch (const Refusal &e) {
    throw Refusal(e.status, e.what());
  }
}

bool run_guarded(Failure &failure, const std::function<void()> &work) {
  try {
    work();
    return true;
  } catch (const Refusal &e) {
    failure = Failure{e.status, e.atom, e.what()};
  } catch (const RDKit::MolSanitizeException &e) {  // of a molecule derived from the input
    failure = Failure{refusal_of(e).status, -1, e.what()};
  } catch (const std::exception &e) {
    failure = Failure{RETORT_FAILED, -1, e.what()};
  } catch (...) {
    failure = Failure{RETORT_FAILED, -1, "unknown C++ exception"};
  }
  return false;
}

retort_answer respond(const std::function<void(std::string &)> &work) {
  silence();
  std::string out;
  Failure failure;
  retort_answer answer{RETORT_OK, -1, nullptr, 0};
  if (!run_guarded(failure, [&] { work(out); })) {
    answer.status = failure.status;
    answer.atom = failure.atom;
    out = failure.message;
  }
  answer.data = static_cast<char *>(std::malloc(out.size() + 1));
  if (!answer.data) {
    answer.status = RETORT_FAILED;
    return answer;
  }
  std::memcpy(answer.data, out.data(), out.size());
  answer.size = out.size();
  return answer;
}

void put(std::string &out, const std::string &text) {
  out += text;
  out.push_back('\0');
}

uint64_t Random::next() {
  uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// The bias of the remainder is below n / 2^64, which is negligible for the sizes used here.
uint64_t Random::below(uint64_t n) { return next() % n; }

}  // namespace retort

extern "C" void retort_free(void *block) { std::free(block); }

extern "C" const char *retort_rdkit_version(void) { return RDKit::rdkitVersion; }
