// The batch call: computes everything about n molecules in one call from Go.
#include <GraphMol/Descriptors/MolDescriptors.h>
#include <GraphMol/SmilesParse/SmilesWrite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "scores.h"

namespace retort {
namespace {

struct Texts {
  std::string all;
  retort_text add(const std::string &text) {
    const retort_text t{static_cast<uint32_t>(all.size()), static_cast<uint32_t>(text.size())};
    all += text;
    return t;
  }
};

void count(const RDKit::ROMol &mol, retort_profile &p) {
  p.heavy_atoms = mol.getNumHeavyAtoms();
  for (const auto *atom : mol.atoms()) p.radicals += atom->getNumRadicalElectrons();
  const auto &rings = mol.getRingInfo()->atomRings();
  p.rings = rings.size();
  for (const auto &ring : rings) p.largest_ring = std::max<int>(p.largest_ring, ring.size());
}

// Sets bit (id mod length) for each fragment, as RDKit's bit vectors do.
void set_bits(const std::vector<std::pair<uint32_t, int>> &fragments, uint64_t *bits) {
  for (const auto &f : fragments) bits[f.first % 2048 / 64] |= uint64_t(1) << f.first % 64;
}

void score(const RDKit::ROMol &mol, uint32_t want, retort_profile &p) {
  if (!(want & (RETORT_QED | RETORT_LOGP))) return;
  const Graph g(mol);
  if (want & RETORT_LOGP) p.logp = crippen_logp(mol, g);
  if (!(want & RETORT_QED)) return;
  const Qed q = qed(mol, g);
  p.qed = q.score;
  p.qed_weight = q.weight;
  p.qed_logp = q.logp;
  p.qed_psa = q.psa;
  p.hba = q.hba;
  p.hbd = q.hbd;
  p.rotatable = q.rotatable;
  p.aromatic_rings = q.aromatic_rings;
  p.alerts = q.alerts;
}

void profile(const std::string &smiles, uint32_t want, retort_profile &p, uint64_t *bits,
             Texts &texts) {
  namespace D = RDKit::Descriptors;
  const auto mol = parse(smiles);
  count(*mol, p);
  if (want & RETORT_CANONICAL) p.canonical = texts.add(RDKit::MolToSmiles(*mol));
  if (want & RETORT_FORMULA) {
    p.formula = texts.add(D::calcMolFormula(*mol));
    p.weight = D::calcAMW(*mol);
  }
  if (want & RETORT_TPSA) p.tpsa = D::calcTPSA(*mol);
  score(*mol, want, p);
  if (!(want & (RETORT_MORGAN | RETORT_SA))) return;
  const auto fragments = morgan(*mol);
  if (bits) set_bits(fragments, bits);
  if (want & RETORT_SA) {
    p.sa = fragments.empty() ? std::nan("") : synthetic_accessibility(*mol, fragments);
  }
}

}  // namespace

std::string write_facts(const RDKit::ROMol &mol) {
  retort_profile p{};
  count(mol, p);
  uint64_t bits[32] = {};
  set_bits(morgan(mol), bits);
  std::string text;
  for (const int n : {p.heavy_atoms, p.rings, p.largest_ring, p.radicals}) text += std::to_string(n) + " ";
  char hex[24];
  for (const uint64_t word : bits) {
    std::snprintf(hex, sizeof hex, "%llx ", static_cast<unsigned long long>(word));
    text += hex;
  }
  text.pop_back();
  return text;
}

}  // namespace retort

extern "C" void retort_profiles(const char *text, const uint32_t *ends, int32_t n, uint32_t want,
                                retort_profile *out, uint64_t *morgan, char **block,
                                size_t *block_size) {
  using namespace retort;
  Texts texts;
  for (int32_t i = 0; i < n; ++i) {
    const uint32_t from = i ? ends[i - 1] : 0;
    const std::string smiles(text + from, ends[i] - from);
    uint64_t *bits = morgan ? morgan + size_t(i) * 32 : nullptr;
    out[i] = retort_profile{};
    out[i].atom = -1;
    Failure failure;
    const auto work = [&] {
      load_crippen();
      load_qed();
      profile(smiles, want, out[i], bits, texts);
    };
    if (run_guarded(failure, work)) continue;
    out[i] = retort_profile{};
    out[i].status = failure.status;
    out[i].atom = failure.atom;
    out[i].message = texts.add(failure.message);
    if (bits) std::fill(bits, bits + 32, 0);
  }
  *block_size = texts.all.size();
  *block = static_cast<char *>(std::malloc(texts.all.size() + 1));
  if (*block) std::memcpy(*block, texts.all.data(), texts.all.size());
}

extern "C" retort_answer retort_warm(void) {
  return retort::respond([](std::string &) {
    retort::load_crippen();
    retort::load_qed();
  });
}
