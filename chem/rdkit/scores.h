// Molecular scores as defined by RDKit, including its Python and Contrib code.
#pragma once
#include <string>

#include "pattern.h"

namespace retort {

// Step budget of the built-in patterns for one molecule, far more than any needs.
constexpr uint64_t kBuiltInSteps = 20'000'000;

// Wildman-Crippen logP: J. Chem. Inf. Comput. Sci. 39, 868 (1999).
double crippen_logp(const RDKit::ROMol &mol, const Graph &g);

// The eight properties of QED (Bickerton et al., Nature Chemistry 4, 90 (2012)) and their
// desirability with the mean weights, as in RDKit's Chem/QED.py.
struct Qed {
  double weight, logp, psa;
  int hba, hbd, rotatable, aromatic_rings, alerts;
  double score;
};
Qed qed(const RDKit::ROMol &mol, const Graph &g);

// Returns the counts of a Morgan fingerprint of radius 2 by 32-bit feature id, in ascending order.
std::vector<std::pair<uint32_t, int>> morgan(const RDKit::ROMol &mol);

// Writes the facts that retort_mutations returns for each molecule: heavy atoms, rings, atoms of the largest ring and
// unpaired electrons, then the 32 words of the Morgan fingerprint in hexadecimal, separated by spaces.
std::string write_facts(const RDKit::ROMol &mol);

// Synthetic accessibility (Ertl and Schuffenhauer, J. Cheminf. 1, 8 (2009)), as in RDKit's
// Contrib/SA_Score. fragments must not be empty. It writes stereo flags into mol, so call it last.
double synthetic_accessibility(RDKit::ROMol &mol,
                               const std::vector<std::pair<uint32_t, int>> &fragments);

// Compile the patterns. Call them before the first use; later calls do nothing.
void load_crippen();
void load_qed();

}  // namespace retort
