// Substructure search for patterns from requests. It uses our own engine, which has a step budget, because a search by
// RDKit cannot be interrupted.
#include <GraphMol/MolOps.h>
#include <GraphMol/SmilesParse/SmilesParse.h>

#include "query.h"

namespace retort {
namespace {

// Compiles a fragment to a pattern without its dummies and without what a substituent changes (hydrogens, stereo).
Pattern fragment_pattern(const std::string &smiles) {
  const auto mol = parse(smiles);
  mol->beginBatchEdit();
  for (const auto atom : mol->atoms()) {
    if (atom->getAtomicNum() == 0) mol->removeAtom(atom);
  }
  mol->commitBatchEdit();
  if (mol->getNumAtoms() == 0) throw Refusal(RETORT_EMPTY, "a fragment of dummies only");
  return Pattern::of_molecule(*mol);
}

}  // namespace

std::vector<int> find_match(const retort_query &query, const RDKit::ROMol &mol) {
  Budget budget{kMaxSteps};
  return query.pattern.find(Graph(mol), budget);
}

}  // namespace retort

extern "C" retort_query *retort_query_new(const char *smiles, size_t size, retort_answer *failure) {
  retort_query *query = nullptr;
  *failure = retort::respond([&](std::string &) {
    query = new retort_query{retort::fragment_pattern(std::string(smiles, size))};
  });
  return query;
}

extern "C" void retort_query_free(retort_query *query) { delete query; }

extern "C" void retort_contains(const retort_query *query, const char *text, const uint32_t *ends,
                                int32_t n, uint8_t *out) {
  using namespace retort;
  for (int32_t i = 0; i < n; ++i) {
    const uint32_t from = i ? ends[i - 1] : 0;
    Failure failure;
    const bool ok = run_guarded(failure, [&] {
      const auto mol = parse(std::string(text + from, ends[i] - from));
      Budget budget{kMaxSteps};
      out[i] = query->pattern.in(Graph(*mol), budget);
    });
    if (!ok) out[i] = failure.status == RETORT_BUDGET ? 3 : 2;
  }
}
