#include "brics.h"

#include <GraphMol/ChemTransforms/MolFragmenter.h>
#include <GraphMol/SmilesParse/SmilesParse.h>

#include <map>
#include <mutex>
#include <set>

#include "scores.h"

namespace retort {
namespace {

struct Rule {
  int first, second;  // environments of the two atoms
  BondMask kinds;
};

std::map<int, Pattern> environments;
std::vector<Rule> rules;

void build_environments() {
  namespace M = RDKit::MolFragmenter;
  std::map<unsigned, std::string> definitions;
  std::map<unsigned, RDKit::ROMOL_SPTR> queries;
  M::constructBRICSAtomTypes(definitions, &queries);
  for (const auto &q : queries) environments.emplace(q.first, Pattern(*q.second, true));
  std::vector<M::FragmenterBondType> types;
  M::constructBRICSBondTypes(types);
  for (const auto &t : types) {
    // Every rule breaks an acyclic single bond, except olefins (7, 7).
    const BondMask kinds = t.bondType == RDKit::Bond::DOUBLE ? 2 : kSingleChain;
    rules.push_back({static_cast<int>(t.atom1Type), static_cast<int>(t.atom2Type), kinds});
  }
}

// Returns a bit mask per atom: bit e is set if the atom is in environment e.
std::vector<uint32_t> environments_of(const Graph &g) {
  Budget budget{kBuiltInSteps};
  std::vector<uint32_t> in(g.atoms.size());
  for (const auto &e : environments) {
    for (size_t a = 0; a < in.size(); ++a) {
      if (e.second.at(g, a, budget)) in[a] |= 1u << e.first;
    }
  }
  return in;
}

}  // namespace

std::vector<unsigned> brics_bonds(const Graph &g) {
  static std::once_flag once;
  std::call_once(once, build_environments);
  const auto in = environments_of(g);
  std::vector<unsigned> bonds;
  std::set<uint16_t> seen;
  for (const Rule &rule : rules) {
    for (size_t a = 0; a < in.size(); ++a) {
      if (!(in[a] >> rule.first & 1)) continue;
      for (const Edge *e = g.begin(a); e != g.end(a); ++e) {
        if (!(e->kind & rule.kinds) || !(in[e->to] >> rule.second & 1)) continue;
        if (seen.insert(e->bond).second) bonds.push_back(e->bond);
      }
    }
  }
  return bonds;
}

}  // namespace retort
