// Structural alerts: the substructures of RDKit's filter catalogs.
#include "alerts.h"

#include <GraphMol/FilterCatalog/FilterCatalog.h>
#include <GraphMol/FilterCatalog/FilterMatchers.h>

#include <climits>

namespace retort {
namespace {

using RDKit::FilterCatalogEntry;
using RDKit::FilterCatalogParams;

// RDKit offers searches with its catalogs but not their patterns: the matcher of an entry is private. With RDKit's own
// search, which has no step budget, PAINS and Brenk take 7 ms for a molecule. An explicit instantiation may name a
// private member, and this one passes on a pointer to the matcher.
using Matcher = boost::shared_ptr<RDKit::FilterMatcherBase> FilterCatalogEntry::*;
Matcher entry_matcher();
template <Matcher member>
struct Reveal {
  friend Matcher entry_matcher() { return member; }
};
template struct Reveal<&FilterCatalogEntry::d_matcher>;

struct Alert {
  std::string name;
  Pattern pattern;
};

std::vector<Alert> read(std::initializer_list<FilterCatalogParams::FilterCatalogs> catalogs) {
  std::vector<Alert> alerts;
  for (const auto which : catalogs) {
    const RDKit::FilterCatalog catalog(which);
    for (unsigned i = 0; i < catalog.getNumEntries(); ++i) {
      const FilterCatalogEntry *entry = catalog.getEntryWithIdx(i);
      const auto *matcher = dynamic_cast<const RDKit::SmartsMatcher *>((entry->*entry_matcher()).get());
      if (!matcher || matcher->getMinCount() != 1 || matcher->getMaxCount() != UINT_MAX) {
        throw Refusal(RETORT_FAILED, "an alert is more than one pattern: " + entry->getDescription());
      }
      alerts.push_back({entry->getDescription(), Pattern(*matcher->getPattern(), false)});
    }
  }
  return alerts;
}

// Compiles a catalog at its first use, which takes some tens of milliseconds.
const std::vector<Alert> &alerts_of(AlertCatalog catalog) {
  static const std::vector<Alert> pains =
      read({FilterCatalogParams::PAINS_A, FilterCatalogParams::PAINS_B, FilterCatalogParams::PAINS_C});
  static const std::vector<Alert> brenk = read({FilterCatalogParams::BRENK});
  return catalog == kPains ? pains : brenk;
}

}  // namespace

int count_alerts(AlertCatalog catalog, const Graph &g) {
  Budget budget{kBuiltInSteps};
  int count = 0;
  for (const Alert &alert : alerts_of(catalog)) count += alert.pattern.in(g, budget);
  return count;
}

}  // namespace retort

extern "C" retort_answer retort_alerts(const char *smiles, size_t size) {
  using namespace retort;
  return respond([&](std::string &out) {
    const auto mol = parse(std::string(smiles, size));
    const Graph g(*mol);
    Budget budget{kBuiltInSteps};
    const std::pair<const char *, AlertCatalog> catalogs[] = {{"PAINS ", kPains}, {"Brenk ", kBrenk}};
    for (const auto &[prefix, catalog] : catalogs) {
      for (const Alert &alert : alerts_of(catalog)) {
        if (alert.pattern.in(g, budget)) put(out, prefix + alert.name);
      }
    }
  });
}
