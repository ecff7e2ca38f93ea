// The molecular scores, each as RDKit (or its Python or Contrib code) defines it.
#pragma once
#include <string>

#include "pattern.h"

namespace retort {

// Steps allowed to the built-in patterns of one molecule: far above what any needs.
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

// The bits of a Morgan fingerprint with radius 2, as counts by 32 bit id in ascending order.
std::vector<std::pair<uint32_t, int>> morgan(const RDKit::ROMol &mol);

// What retort_mutations says of a molecule: its heavy atoms, rings, the atoms of the largest ring and unpaired
// electrons, and in hexadecimal the 32 words of its Morgan fingerprint, all separated by blanks.
std::string facts(const RDKit::ROMol &mol);

// Synthetic accessibility (Ertl and Schuffenhauer, J. Cheminf. 1, 8 (2009)), as in RDKit's
// Contrib/SA_Score. fragments must not be empty.
// Writes stereo flags into mol: call it last.
double synthetic_accessibility(RDKit::ROMol &mol,
                               const std::vector<std::pair<uint32_t, int>> &fragments);

// Compile the patterns; called once before the first use.
void load_crippen();
void load_qed();

}  // namespace retort
