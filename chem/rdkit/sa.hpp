#include <GraphMol/Descriptors/MolDescriptors.h>
#include <GraphMol/Fingerprints/MorganFingerprints.h>
#include <GraphMol/MolOps.h>
#include <DataStructs/SparseIntVect.h>

#include <algorithm>
#include <cmath>

#include "scores.h"

namespace retort {
namespace {

// The fragment contributions: ascending ids, and where the ids with the same high 16 bits begin.
struct {
  std::vector<uint32_t> ids;
  std::vector<uint16_t> score_of;
  std::vector<double> scores;
  std::vector<uint32_t> begin;
} table;

double contribution(uint32_t id) {
  const auto from = table.ids.begin() + table.begin[id >> 16];
  const auto to = table.ids.begin() + table.begin[(id >> 16) + 1];
  const auto at = std::lower_bound(from, to, id);
  if (at == to || *at != id) return -4;  // a fragment not seen in PubChem
  return table.scores[table.score_of[at - table.ids.begin()]];
}

int chiral_centers(RDKit::ROMol &mol) {
  RDKit::MolOps::assignStereochemistry(mol, false, true, true);
  int centers = 0;
  for (const auto atom : mol.atoms()) {
    centers += atom->hasProp(RDKit::common_properties::_CIPCode) ||
               atom->hasProp(RDKit::common_properties::_ChiralityPossible);
  }
  return centers;
}

double complexity(RDKit::ROMol &mol) {
  const int atoms = mol.getNumAtoms();
  const auto &rings = mol.getRingInfo()->atomRings();
  const bool macrocycle =
      std::any_of(rings.begin(), rings.end(), [](const auto &r) { return r.size() > 8; });
  const double size = std::pow(atoms, 1.005) - atoms;
  const double stereo = std::log10(chiral_centers(mol) + 1);
  const double spiro = std::log10(RDKit::Descriptors::calcNumSpiroAtoms(mol) + 1);
  const double bridge = std::log10(RDKit::Descriptors::calcNumBridgeheadAtoms(mol) + 1);
  return 0. - size - stereo - spiro - bridge - (macrocycle ? std::log10(2) : 0.);
}

}  // namespace

std::vector<std::pair<uint32_t, int>> morgan(const RDKit::ROMol &mol) {
  const std::unique_ptr<RDKit::SparseIntVect<uint32_t>> counts(
      RDKit::MorganFingerprints::getFingerprint(mol, 2));
  const auto &nonzero = counts->getNonzeroElements();
  return {nonzero.begin(), nonzero.end()};
}

double synthetic_accessibility(RDKit::ROMol &mol,
                               const std::vector<std::pair<uint32_t, int>> &fragments) {
  if (table.begin.empty()) throw Refusal(RETORT_FAILED, "the SA table has not been loaded");
  double seen = 0.;
  int count = 0;
  for (const auto &f : fragments) {
    count += f.second;
    seen += contribution(f.first) * f.second;
  }
  seen /= count;
  const int atoms = mol.getNumAtoms(), kinds = fragments.size();
  const double symmetry = atoms > kinds ? std::log(double(atoms) / kinds) * .5 : 0.;
  double score = seen + complexity(mol) + symmetry;
  score = 11. - (score - -4.0 + 1) / (2.5 - -4.0) * 9.;  // to the scale from 1 to 10
  if (score > 8.) score = 8. + std::log(score + 1. - 9.);
  return std::min(10.0, std::max(1.0, score));
}

}  // namespace retort

extern "C" void retort_sa_table(const uint32_t *ids, const uint16_t *score_of, int32_t n,
                                const double *scores, int32_t n_scores) {
  auto &t = retort::table;
  t.ids.assign(ids, ids + n);
  t.score_of.assign(score_of, score_of + n);
  t.scores.assign(scores, scores + n_scores);
  std::vector<uint32_t> begin(65537);
  for (uint32_t high = 0, i = 0; high < 65537; ++high) {
    while (i < static_cast<uint32_t>(n) && (ids[i] >> 16) < high) ++i;
    begin[high] = i;
  }
  t.begin = std::move(begin);
}
