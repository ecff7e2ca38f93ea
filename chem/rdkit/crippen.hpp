// Crippen logP without adding the hydrogens to the molecule and without a general matcher.
//
// RDKit adds all hydrogens, then runs 110 patterns over the molecule in order; an atom takes the
// contribution of the first pattern whose atom 0 matches it. Here each atom runs, in the same
// order, only the patterns its class can match, and a hydrogen is typed from its heavy atom.
// Contributions are added in the order RDKit adds them, so that sums are equal to the last bit.
#include <GraphMol/Descriptors/Crippen.h>

#include <mutex>

#include "scores.h"

namespace retort {
namespace {

struct Contribution {
  Pattern pattern;
  double logp;
};

std::vector<Contribution> contributions;
std::array<std::vector<int>, kClasses> by_class;  // contributions whose atom 0 may be of a class
std::vector<int> of_hydrogen;

void build_contributions() {
  int hydrogen = -1;
  {
    const std::unique_ptr<RDKit::ROMol> h2(parse("[H][H]", false));
    hydrogen = Graph(*h2).kind[0];
  }
  for (const auto &p : *RDKit::Descriptors::CrippenParamCollection::getParams()) {
    const int index = contributions.size();
    contributions.push_back({Pattern(*p.dp_pattern, true), p.logp});
    for (int c = 0; c < kClasses; ++c) {
      if (contributions[index].pattern.root()[c]) by_class[c].push_back(index);
    }
    if (contributions[index].pattern.root()[hydrogen]) of_hydrogen.push_back(index);
  }
}

// RDKit stops listing the matches of a pattern at 1,000. No pattern can reach that if the number of ways to choose an
// atom's neighbours, summed over the atoms, is below it. A hydrogen written as an atom, or several hydrogens on one
// oxygen, would require patterns that match hydrogens.
bool needs_rdkit(const Graph &g) {
  int ways = 0;
  for (const auto &a : g.atoms) {
    if (a[kElement] == 1 || (a[kElement] == 8 && a[kHydrogens] > 1)) return true;
    static const int factorial[] = {6, 6, 6, 6, 24, 120, 720};
    ways += a[kDegree] > 6 ? 1000 : factorial[a[kDegree]];
  }
  return ways >= 1000;
}

double rdkit_logp(const RDKit::ROMol &mol) {
  double logp = 0, refractivity = 0;
  RDKit::Descriptors::calcCrippenDescriptors(mol, logp, refractivity, true, true);
  return logp;
}

}  // namespace

void load_crippen() {
  static std::once_flag once;
  std::call_once(once, build_contributions);
}

double crippen_logp(const RDKit::ROMol &mol, const Graph &g) {
  if (needs_rdkit(g)) return rdkit_logp(mol);
  Budget budget{kBuiltInSteps};
  double logp = 0;
  for (size_t a = 0; a < g.atoms.size(); ++a) {
    for (int i : by_class[g.kind[a]]) {
      if (contributions[i].pattern.at(g, a, budget)) {
        logp += contributions[i].logp;
        break;
      }
    }
  }
  for (size_t a = 0; a < g.atoms.size(); ++a) {
    if (!g.atoms[a][kHydrogens]) continue;
    for (int i : of_hydrogen) {
      if (!contributions[i].pattern.at_hydrogen_of(g, a, budget)) continue;
      for (int h = 0; h < g.atoms[a][kHydrogens]; ++h) logp += contributions[i].logp;
      break;
    }
  }
  return logp;
}

}  // namespace retort
