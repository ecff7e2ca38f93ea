// Panels compute several numbers of each molecule, some relative to a reference, and parse the molecule once.
#include <DataStructs/SparseIntVect.h>
#include <GraphMol/ChemTransforms/ChemTransforms.h>
#include <GraphMol/Descriptors/MolDescriptors.h>
#include <GraphMol/Fingerprints/AtomPairs.h>
#include <GraphMol/Fingerprints/FingerprintUtil.h>
#include <GraphMol/Fingerprints/MorganFingerprints.h>
#include <GraphMol/PeriodicTable.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>

#include <array>
#include <cmath>
#include <mutex>

#include "alerts.h"

namespace retort {
namespace {

// The kinds of fingerprints. All are count vectors.
enum Print { kMorgan2, kMorgan3, kFeatureMorgan2, kAtomPairs, kPrints };

// The largest distance of an atom pair, in bonds, as in GuacaMol and TDC.
constexpr unsigned kMaxPairDistance = 10;

using Morgan = std::unique_ptr<RDKit::SparseIntVect<uint32_t>>;
using Pairs = std::unique_ptr<RDKit::SparseIntVect<int32_t>>;

// Returns RDKit's six definitions of features for our own matcher, because RDKit searches recursive patterns under a
// lock.
const std::vector<Pattern> &feature_patterns() {
  static std::vector<Pattern> patterns;
  static std::once_flag once;
  std::call_once(once, [] {
    for (const auto &smarts : RDKit::MorganFingerprints::defaultFeatureSmarts) patterns.emplace_back(smarts);
  });
  return patterns;
}

// One molecule with the properties that several measures share, each computed at most once.
class Subject {
 public:
  explicit Subject(const RDKit::ROMol &mol) : mol(mol) {}

  const RDKit::ROMol &mol;

  const Graph &graph() {
    if (!graph_) graph_ = std::make_unique<Graph>(mol);
    return *graph_;
  }
  const RDKit::SparseIntVect<uint32_t> &morgan(Print kind) {
    Morgan &print = morgan_[kind];
    if (!print && kind == kFeatureMorgan2) {
      auto features = invariants();
      print.reset(RDKit::MorganFingerprints::getFingerprint(mol, 2, &features));
    } else if (!print) {
      print.reset(RDKit::MorganFingerprints::getFingerprint(mol, kind == kMorgan3 ? 3 : 2));
    }
    return *print;
  }
  const RDKit::SparseIntVect<int32_t> &pairs() {
    if (!pairs_) pairs_.reset(RDKit::AtomPairs::getAtomPairFingerprint(mol, 1, kMaxPairDistance));
    return *pairs_;
  }
  const std::string &scaffold() {
    if (!scaffolded_) {
      const std::unique_ptr<RDKit::ROMol> core(RDKit::MurckoDecompose(mol));
      if (core && core->getNumAtoms()) scaffold_ = RDKit::MolToSmiles(*core, false);
      scaffolded_ = true;
    }
    return scaffold_;
  }

 private:
  std::vector<uint32_t> invariants() {
    std::vector<uint32_t> features(mol.getNumAtoms());
    Budget budget{kMaxSteps};
    const auto &patterns = feature_patterns();
    for (size_t k = 0; k < patterns.size(); ++k) {
      for (size_t a = 0; a < features.size(); ++a) {
        if (patterns[k].at(graph(), a, budget)) features[a] |= 1u << k;
      }
    }
    return features;
  }

  std::unique_ptr<Graph> graph_;
  std::array<Morgan, kAtomPairs> morgan_;
  Pairs pairs_;
  std::string scaffold_;
  bool scaffolded_ = false;
};

int count_element(const RDKit::ROMol &mol, int element) {
  int count = 0;
  for (const auto *atom : mol.atoms()) {
    count += atom->getAtomicNum() == element;
    if (element == 1) count += atom->getTotalNumHs();  // hydrogens that are not atoms of the graph
  }
  return count;
}

// Counts all atoms, hydrogens included.
int count_all(const RDKit::ROMol &mol) {
  int count = 0;
  for (const auto *atom : mol.atoms()) count += 1 + atom->getTotalNumHs();
  return count;
}

struct Measure {
  int kind;
  std::unique_ptr<RDKit::ROMol> reference;
  std::unique_ptr<Subject> prints;  // of the reference, precomputed because threads share it
  std::unique_ptr<Pattern> pattern;
  int element = 0;

  double of(Subject &s, Budget &budget) const;
};

double Measure::of(Subject &s, Budget &budget) const {
  namespace D = RDKit::Descriptors;
  switch (kind) {
    case RETORT_MORGAN2_SIMILARITY: return TanimotoSimilarity(prints->morgan(kMorgan2), s.morgan(kMorgan2));
    case RETORT_MORGAN3_SIMILARITY: return TanimotoSimilarity(prints->morgan(kMorgan3), s.morgan(kMorgan3));
    case RETORT_FEATURE_SIMILARITY:
      return TanimotoSimilarity(prints->morgan(kFeatureMorgan2), s.morgan(kFeatureMorgan2));
    case RETORT_PAIR_SIMILARITY: return TanimotoSimilarity(prints->pairs(), s.pairs());
    case RETORT_CONTAINS: return pattern->in(s.graph(), budget);
    case RETORT_SAME_SCAFFOLD: return prints->scaffold() == s.scaffold();
    case RETORT_RINGS: return D::calcNumRings(s.mol);
    case RETORT_AROMATIC_RINGS: return D::calcNumAromaticRings(s.mol);
    case RETORT_ROTATABLE: return D::calcNumRotatableBonds(s.mol);
    case RETORT_DONORS: return D::calcNumHBD(s.mol);
    case RETORT_ACCEPTORS: return D::calcNumHBA(s.mol);
    case RETORT_HEAVY_ATOMS: return s.mol.getNumHeavyAtoms();
    case RETORT_FRACTION_SP3: return D::calcFractionCSP3(s.mol);
    case RETORT_ELEMENT: return count_element(s.mol, element);
    case RETORT_ALL_ATOMS: return count_all(s.mol);
    case RETORT_PAINS: return count_alerts(kPains, s.graph());
    case RETORT_BRENK: return count_alerts(kBrenk, s.graph());
  }
  throw Refusal(RETORT_FAILED, "an unknown measure");
}

// Computes the property of the reference that will be compared, so that measuring only reads it.
void precompute(Measure &m) {
  Subject &s = *m.prints;
  switch (m.kind) {
    case RETORT_MORGAN2_SIMILARITY: s.morgan(kMorgan2); break;
    case RETORT_MORGAN3_SIMILARITY: s.morgan(kMorgan3); break;
    case RETORT_FEATURE_SIMILARITY: s.morgan(kFeatureMorgan2); break;
    case RETORT_PAIR_SIMILARITY: s.pairs(); break;
    case RETORT_SAME_SCAFFOLD: s.scaffold(); break;
  }
}

Measure compile_measure(int kind, const std::string &text) {
  Measure m;
  m.kind = kind;
  switch (kind) {
    case RETORT_MORGAN2_SIMILARITY:
    case RETORT_MORGAN3_SIMILARITY:
    case RETORT_FEATURE_SIMILARITY:
    case RETORT_PAIR_SIMILARITY:
    case RETORT_SAME_SCAFFOLD:
      m.reference = parse(text);
      m.prints = std::make_unique<Subject>(*m.reference);
      precompute(m);
      m.reference->clearComputedProps(false);  // frees the n x n distance matrix of the atom pairs
      break;
    case RETORT_CONTAINS:
      m.pattern = std::make_unique<Pattern>(text);
      break;
    case RETORT_ELEMENT:
      try {
        m.element = RDKit::PeriodicTable::getTable()->getAtomicNumber(text);
      } catch (const std::exception &) {
        throw Refusal(RETORT_REFUSED, "no element has this symbol");
      }
      break;
  }
  return m;
}

}  // namespace
}  // namespace retort

struct retort_panel {
  std::vector<retort::Measure> measures;
};

extern "C" retort_panel *retort_panel_new(void) { return new retort_panel; }

extern "C" void retort_panel_free(retort_panel *panel) { delete panel; }

extern "C" retort_answer retort_panel_add(retort_panel *panel, int32_t kind, const char *text, size_t size) {
  return retort::respond([&](std::string &) {
    panel->measures.push_back(retort::compile_measure(kind, std::string(text, size)));
  });
}

extern "C" void retort_panel_measure(const retort_panel *panel, const char *text, const uint32_t *ends, int32_t n,
                                     double *out) {
  using namespace retort;
  const size_t width = panel->measures.size();
  for (int32_t i = 0; i < n; ++i) {
    const uint32_t from = i ? ends[i - 1] : 0;
    double *row = out + i * width;
    std::fill(row, row + width, std::nan(""));
    std::unique_ptr<RDKit::RWMol> mol;
    Failure failure;
    if (!run_guarded(failure, [&] { mol = parse(std::string(text + from, ends[i] - from)); })) continue;
    Subject subject(*mol);
    Budget budget{kMaxSteps};  // for all patterns together
    for (size_t k = 0; k < width; ++k) {
      run_guarded(failure, [&] { row[k] = panel->measures[k].of(subject, budget); });
    }
  }
}
