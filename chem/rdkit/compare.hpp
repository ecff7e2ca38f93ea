#include "compare.h"

#include <algorithm>
#include <queue>
#include <tuple>

namespace retort {
namespace {

constexpr int kDistance = 5;    // radius of the surroundings that are compared, in bonds
constexpr size_t kStarts = 32;  // pairs of atoms tried as the start of each part
constexpr size_t kMinPart = 3;  // lower bound of a part, in atoms
constexpr int kMaxParts = 8;

uint64_t mix(uint64_t a, uint64_t b) {
  Random random{a * 31 + b};
  return random.next();
}

uint64_t kind(const RDKit::Atom &atom) {
  return mix(atom.getAtomicNum() * 2 + atom.getIsAromatic(), (atom.getFormalCharge() + 16) * 1024 + atom.getIsotope());
}

uint64_t kind(const RDKit::Bond &bond) {
  const bool ring = bond.getOwningMol().getRingInfo()->numBondRings(bond.getIdx()) > 0;
  return static_cast<uint64_t>(bond.getIsAromatic() ? RDKit::Bond::AROMATIC : bond.getBondType()) * 2 + ring;
}

using Surroundings = std::vector<std::vector<uint64_t>>;  // [distance][atom]

Surroundings surroundings(const RDKit::ROMol &mol) {
  Surroundings all(kDistance + 1, std::vector<uint64_t>(mol.getNumAtoms()));
  for (const auto atom : mol.atoms()) all[0][atom->getIdx()] = kind(*atom);
  for (int r = 1; r <= kDistance; ++r) {
    for (const auto atom : mol.atoms()) {
      std::vector<uint64_t> around;
      for (const auto bond : mol.atomBonds(atom)) {
        around.push_back(mix(kind(*bond), all[r - 1][bond->getOtherAtomIdx(atom->getIdx())]));
      }
      std::sort(around.begin(), around.end());
      uint64_t sum = all[r - 1][atom->getIdx()];
      for (const uint64_t neighbour : around) sum = mix(sum, neighbour);
      all[r][atom->getIdx()] = sum;
    }
  }
  return all;
}

struct Pair {
  int alike;  // radius up to which the surroundings are equal
  int a, b;   // atom of the molecule, of the reference
  bool operator<(const Pair &o) const { return std::tie(alike, o.a, o.b) < std::tie(o.alike, a, b); }
};

class Comparison {
 public:
  Comparison(const RDKit::ROMol &mol, const RDKit::ROMol &reference)
      : mol_(mol), reference_(reference), left_(surroundings(mol)), right_(surroundings(reference)),
        partner_(mol.getNumAtoms(), -1), back_(reference.getNumAtoms(), -1) {}

  Common run() {
    Common found;
    for (int part = 0; part < kMaxParts; ++part) {
      const std::vector<Pair> best = grow_largest();
      if (best.size() < std::min<size_t>(kMinPart, mol_.getNumAtoms())) break;
      for (const Pair &p : best) {
        partner_[p.a] = p.b;
        back_[p.b] = p.a;
        if (part == 0) found.largest.push_back(p.a);
      }
    }
    found.partner = partner_;
    return found;
  }

 private:
  // Returns the radius up to which the surroundings of two atoms are equal, or -1 if their kinds differ.
  int alike(int a, int b) const {
    int r = -1;
    while (r < kDistance && left_[r + 1][a] == right_[r + 1][b]) ++r;
    return r;
  }

  std::vector<Pair> grow_largest() {
    std::vector<Pair> starts;
    for (size_t a = 0; a < partner_.size(); ++a) {
      for (size_t b = 0; partner_[a] < 0 && b < back_.size(); ++b) {
        const int r = back_[b] < 0 ? alike(a, b) : -1;
        if (r >= 0) starts.push_back({r, static_cast<int>(a), static_cast<int>(b)});
      }
    }
    std::sort(starts.rbegin(), starts.rend());
    starts.resize(std::min(starts.size(), kStarts));
    std::vector<Pair> best;
    for (const Pair &start : starts) {
      std::vector<Pair> part = grow(start);
      if (part.size() > best.size()) best = std::move(part);
    }
    return best;
  }

  // Grows a part from a pair of atoms, the most similar neighbours first.
  std::vector<Pair> grow(const Pair &start) {
    std::vector<Pair> part;
    std::vector<int> partner = partner_, back = back_;
    std::priority_queue<Pair> next;
    next.push(start);
    while (!next.empty()) {
      const Pair p = next.top();
      next.pop();
      if (partner[p.a] >= 0 || back[p.b] >= 0 || !fits(p, part, partner, back)) continue;
      partner[p.a] = p.b;
      back[p.b] = p.a;
      part.push_back(p);
      for (const auto bond : mol_.atomBonds(mol_.getAtomWithIdx(p.a))) {
        for (const auto other : reference_.atomBonds(reference_.getAtomWithIdx(p.b))) {
          if (kind(*bond) != kind(*other)) continue;
          const int a = bond->getOtherAtomIdx(p.a), b = other->getOtherAtomIdx(p.b);
          const int r = partner[a] < 0 && back[b] < 0 ? alike(a, b) : -1;
          if (r >= 0) next.push({r, a, b});
        }
      }
    }
    return part;
  }

  // Reports whether a pair has the same bonds to the part in both molecules.
  bool fits(const Pair &p, const std::vector<Pair> &part, const std::vector<int> &partner,
            const std::vector<int> &back) const {
    const auto in = [&](int a) {
      return std::any_of(part.begin(), part.end(), [&](const Pair &q) { return q.a == a; });
    };
    for (const auto bond : mol_.atomBonds(mol_.getAtomWithIdx(p.a))) {
      const int a = bond->getOtherAtomIdx(p.a);
      if (partner[a] < 0 || !in(a)) continue;
      const auto *other = reference_.getBondBetweenAtoms(p.b, partner[a]);
      if (!other || kind(*other) != kind(*bond)) return false;
    }
    for (const auto bond : reference_.atomBonds(reference_.getAtomWithIdx(p.b))) {
      const int b = bond->getOtherAtomIdx(p.b);
      if (back[b] >= 0 && in(back[b]) && !mol_.getBondBetweenAtoms(p.a, back[b])) return false;
    }
    return true;
  }

  const RDKit::ROMol &mol_, &reference_;
  const Surroundings left_, right_;
  std::vector<int> partner_, back_;  // of the parts found so far
};

}  // namespace

Common common(const RDKit::ROMol &mol, const RDKit::ROMol &reference) { return Comparison(mol, reference).run(); }

Difference difference(const RDKit::ROMol &mol, const RDKit::ROMol &reference, const Common &common) {
  Difference d;
  std::vector<char> touched(mol.getNumAtoms());
  for (const auto bond : mol.bonds()) {
    const int a = bond->getBeginAtomIdx(), b = bond->getEndAtomIdx();
    const int x = common.partner[a], y = common.partner[b];
    const auto *other = x < 0 || y < 0 ? nullptr : reference.getBondBetweenAtoms(x, y);
    if (other && (kind(*other) == kind(*bond))) continue;
    d.bonds.push_back(bond->getIdx());
    touched[a] = touched[b] = 1;
  }
  std::vector<int> back(reference.getNumAtoms(), -1);
  for (size_t a = 0; a < common.partner.size(); ++a) {
    if (common.partner[a] >= 0) back[common.partner[a]] = a;
  }
  for (size_t a = 0; a < common.partner.size(); ++a) {
    if (common.partner[a] < 0) {
      d.atoms.push_back(a);
      continue;
    }
    if (touched[a]) continue;
    for (const auto other : reference.atomNeighbors(reference.getAtomWithIdx(common.partner[a]))) {
      const int stayed = back[other->getIdx()];
      if (stayed < 0 || !mol.getBondBetweenAtoms(a, stayed)) {
        d.sites.push_back(a);
        break;
      }
    }
  }
  return d;
}

}  // namespace retort
