#include <GraphMol/ChemTransforms/ChemTransforms.h>
#include <GraphMol/Descriptors/MolDescriptors.h>
#include <GraphMol/MolOps.h>
#include <GraphMol/SmilesParse/SmilesParse.h>

#include <cmath>
#include <mutex>
#include <numeric>

#include "qed_alerts.h"
#include "scores.h"

namespace retort {
namespace {

// Acceptors and the parameters below: RDKit's Chem/QED.py (see NOTICE).
const char *const kAcceptors[] = {
    "[oH0;X2]",   "[OH1;X2;v2]", "[OH0;X2;v2]", "[OH0;X1;v2]",
    "[O-;X1]",    "[SH0;X2;v2]", "[SH0;X1;v2]", "[S-;X1]",
    "[nH0;X2]",   "[NH0;X1;v3]", "[$([N;+0;X3;v3]);!$(N[C,S]=O)]"};

// RDKit's definition of a strict rotatable bond, in Descriptors/Lipinski.cpp.
const char *const kRotatable =
    "[!$(*#*)&!D1&!$(C(F)(F)F)&!$(C(Cl)(Cl)Cl)&!$(C(Br)(Br)Br)&!$(C([CH3])([CH3])[CH3])"
    "&!$([CD3](=[N,O,S])-!@[#7,O,S!D1])&!$([#7,O,S!D1]-!@[CD3]=[N,O,S])"
    "&!$([CD3](=[N+])-!@[#7!D1])&!$([#7!D1]-!@[CD3]=[N+])]-,:;!@"
    "[!$(*#*)&!D1&!$(C(F)(F)F)&!$(C(Cl)(Cl)Cl)&!$(C(Br)(Br)Br)&!$(C([CH3])([CH3])[CH3])]";

// One asymmetric double sigmoid per property, in the order of Qed's properties:
// weight, logP, acceptors, donors, polar surface, rotatable bonds, aromatic rings, alerts.
struct Sigmoid {
  double a, b, c, d, e, f, dmax;
  double of(double x) const {
    const double exp1 = 1 + std::exp(-1 * (x - c + d / 2) / e);
    const double exp2 = 1 + std::exp(-1 * (x - c - d / 2) / f);
    return (a + b / exp1 * (1 - 1 / exp2)) / dmax;
  }
};
const Sigmoid kDesirability[] = {
    {2.817065973, 392.5754953, 290.7489764, 2.419764353, 49.22325677, 65.37051707, 104.9805561},
    {3.172690585, 137.8624751, 2.534937431, 4.581497897, 0.822739154, 0.576295591, 131.3186604},
    {2.948620388, 160.4605972, 3.615294657, 4.435986202, 0.290141953, 1.300669958, 148.7763046},
    {1.618662227, 1010.051101, 0.985094388, 0.000000001, 0.713820843, 0.920922555, 258.1632616},
    {1.876861559, 125.2232657, 62.90773554, 87.83366614, 12.01999824, 28.51324732, 104.5686167},
    {0.010000000, 272.4121427, 2.558379970, 1.565547684, 1.271567166, 2.758063707, 105.4420403},
    {3.217788970, 957.7374108, 2.274627939, 0.000000001, 1.317690384, 0.375760881, 312.3372610},
    {0.010000000, 1199.094025, -0.09002883, 0.000000001, 0.185904477, 0.875193782, 417.7253140}};
const double kMeanWeights[] = {0.66, 0.46, 0.05, 0.61, 0.06, 0.65, 0.48, 0.95};

std::vector<Pattern> acceptors, alerts;
std::unique_ptr<Pattern> rotatable;

void build_patterns() {
  for (const char *smarts : kAcceptors) acceptors.emplace_back(smarts);
  for (const char *smarts : kAlerts) alerts.emplace_back(smarts);
  rotatable = std::make_unique<Pattern>(kRotatable);
}

// QED.py deletes every aliphatic ring atom with a non-aromatic neighbour, '[$([A;R][!a])]', and counts the rings that
// remain. Deleting needs a copy of the molecule, so the rings are counted here as bonds - atoms + components.
int aromatic_rings(const Graph &g) {
  const int n = g.atoms.size();
  std::vector<char> stays(n, 1);
  for (int a = 0; a < n; ++a) {
    if (g.atoms[a][kAromatic] || !g.atoms[a][kInRing]) continue;
    for (const Edge *e = g.begin(a); e != g.end(a); ++e) {
      // An unwritten bond in SMARTS is single or aromatic.
      const bool bonded = e->kind & (1 | 8 | 1 << 5 | 8 << 5);
      if (bonded && !g.atoms[e->to][kAromatic]) stays[a] = 0;
    }
  }
  std::vector<int> group(n);
  std::iota(group.begin(), group.end(), 0);
  const auto find = [&](int a) {
    while (group[a] != a) a = group[a] = group[group[a]];
    return a;
  };
  int rings = 0;  // each bond inside a component that is already connected closes a ring
  for (int a = 0; a < n; ++a) {
    for (const Edge *e = g.begin(a); e != g.end(a); ++e) {
      if (e->to < a || !stays[a] || !stays[e->to]) continue;
      const int x = find(a), y = find(e->to);
      if (x == y) ++rings;
      group[x] = y;
    }
  }
  return rings;
}

// Counts them as QED.py does, on a copy of the molecule.
int rdkit_aromatic_rings(const RDKit::ROMol &mol) {
  static const std::unique_ptr<RDKit::ROMol> aliphatic(RDKit::SmartsToMol("[$([A;R][!a])]"));
  const RDKit::ROMol query(*aliphatic);  // matching writes into recursive queries
  const std::unique_ptr<RDKit::ROMol> remainder(RDKit::deleteSubstructs(mol, query));
  return RDKit::MolOps::findSSSR(*remainder);
}

int count_acceptors(const Graph &g, Budget &budget) {
  int count = 0;
  for (const Pattern &p : acceptors) {
    for (size_t a = 0; a < g.atoms.size(); ++a) count += p.at(g, a, budget);
  }
  return count;
}

Qed properties(const RDKit::ROMol &mol, const Graph &g) {
  namespace D = RDKit::Descriptors;
  Budget budget{kBuiltInSteps};
  Qed q;
  q.weight = D::calcAMW(mol);
  q.logp = crippen_logp(mol, g);
  q.hba = count_acceptors(g, budget);
  q.hbd = D::calcNumHBD(mol);
  q.psa = D::calcTPSA(mol);
  q.rotatable = rotatable->count_bonds(g, budget);
  q.aromatic_rings = aromatic_rings(g);
  // In fullerenes RDKit's ring search finds one ring more than there are.
  if (q.aromatic_rings > 10) q.aromatic_rings = rdkit_aromatic_rings(mol);
  q.alerts = 0;
  for (const Pattern &p : alerts) q.alerts += p.in(g, budget);
  return q;
}

double desirability(const Qed &q) {
  const double x[] = {q.weight, q.logp,
                      double(q.hba), double(q.hbd), q.psa,
                      double(q.rotatable), double(q.aromatic_rings), double(q.alerts)};
  double sum = 0, weights = 0;
  for (int i = 0; i < 8; ++i) {
    sum += kMeanWeights[i] * std::log(kDesirability[i].of(x[i]));
    weights += kMeanWeights[i];
  }
  return std::exp(sum / weights);
}

}  // namespace

void load_qed() {
  static std::once_flag once;
  std::call_once(once, build_patterns);
}

Qed qed(const RDKit::ROMol &mol, const Graph &g) {
  Qed q;
  // QED.py removes explicit hydrogens first; parsing has removed those that can be.
  bool hydrogens = false;
  for (const auto &a : g.atoms) hydrogens |= a[kElement] == 1;
  if (hydrogens) {
    const std::unique_ptr<RDKit::ROMol> bare(RDKit::MolOps::removeHs(mol));
    q = properties(*bare, Graph(*bare));
  } else {
    q = properties(mol, g);
  }
  q.score = desirability(q);
  return q;
}

}  // namespace retort
