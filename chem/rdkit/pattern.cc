#include "pattern.h"

#include <GraphMol/QueryAtom.h>
#include <GraphMol/QueryBond.h>
#include <GraphMol/QueryOps.h>
#include <GraphMol/SmilesParse/SmilesParse.h>

#include <algorithm>

namespace retort {
namespace {

using AtomQuery = RDKit::QueryAtom::QUERYATOM_QUERY;
using BondQuery = RDKit::QueryBond::QUERYBOND_QUERY;

constexpr int kMaxAtoms = 256;  // of a pattern; patterns are read at start-up or capped by Go

Refusal unsupported(const std::string &what) {
  return Refusal(RETORT_REFUSED, "unsupported in a pattern: " + what);
}

int element_class(int element) {
  switch (element) {
    case 0: return 0;
    case 1: return 1;
    case 5: return 2;
    case 6: return 3;
    case 7: return 4;
    case 8: return 5;
    case 9: return 6;
    case 14: return 7;
    case 15: return 8;
    case 16: return 9;
    case 17: return 10;
    case 35: return 11;
    case 53: return 12;
    default: return 13;
  }
}

int atom_class(int element, bool aromatic, bool ring, int charge) {
  const int sign = charge == 0 ? 0 : charge > 0 ? 1 : 2;
  return ((element_class(element) * 2 + aromatic) * 2 + ring) * 3 + sign;
}

Classes where(const std::function<bool(int element, bool aromatic, bool ring, int sign)> &keep) {
  Classes set;
  for (int i = 0; i < kClasses; ++i) {
    set[i] = keep(i / 12, i / 6 % 2, i / 3 % 2, i % 3);
  }
  return set;
}

int order_index(RDKit::Bond::BondType type) {
  switch (type) {
    case RDKit::Bond::SINGLE: return 0;
    case RDKit::Bond::DOUBLE: return 1;
    case RDKit::Bond::TRIPLE: return 2;
    case RDKit::Bond::AROMATIC: return 3;
    default: return 4;
  }
}

BondMask orders(BondMask chain) { return chain | chain << 5; }

BondMask bond_leaf(const BondQuery *q) {
  const std::string &what = q->getDescription();
  if (what == "BondNull") return kAnyBond;
  if (what == "SingleOrAromaticBond") return orders(1 | 8);
  auto *equal = dynamic_cast<const RDKit::BOND_EQUALS_QUERY *>(q);
  if (!equal) throw unsupported(what);
  if (what == "BondInRing") return equal->getVal() ? 0x3e0 : 0x1f;
  const int order = order_index(static_cast<RDKit::Bond::BondType>(equal->getVal()));
  if (what != "BondOrder" || order == 4) throw unsupported(what);
  return orders(1 << order);
}

BondMask bond_mask(const BondQuery *q) {
  BondMask mask = 0;
  const std::string &what = q->getDescription();
  if (what == "BondAnd" || what == "BondOr") {
    const bool all = what == "BondAnd";
    mask = all ? kAnyBond : 0;
    for (auto c = q->beginChildren(); c != q->endChildren(); ++c) {
      mask = all ? mask & bond_mask(c->get()) : mask | bond_mask(c->get());
    }
  } else {
    mask = bond_leaf(q);
  }
  return q->getNegation() ? kAnyBond & ~mask : mask;
}

// A bond without a query matches bonds of its own type, in or out of rings.
std::vector<BondMask> bond_masks(const RDKit::ROMol &query) {
  std::vector<BondMask> masks(query.getNumBonds());
  for (const auto bond : query.bonds()) {
    masks[bond->getIdx()] = bond->hasQuery()
                                ? bond_mask(bond->getQuery())
                                : orders(1 << order_index(bond->getBondType()));
  }
  return masks;
}

bool field_of(const std::string &description, Field &field) {
  static const std::pair<const char *, Field> known[] = {
      {"AtomType", kType},           {"AtomAtomicNum", kElement},
      {"AtomIsAromatic", kAromatic}, {"AtomIsAliphatic", kAliphatic},
      {"AtomHCount", kHydrogens},    {"AtomTotalDegree", kTotalDegree},
      {"AtomExplicitDegree", kDegree}, {"AtomFormalCharge", kCharge},
      {"AtomInNRings", kRings},      {"AtomInRing", kInRing},
      {"AtomIsotope", kIsotope},     {"AtomTotalValence", kValence}};
  for (const auto &k : known) {
    if (description == k.first) {
      field = k.second;
      return true;
    }
  }
  return false;
}

}  // namespace

Graph::Graph(const RDKit::ROMol &mol) {
  const int n = mol.getNumAtoms();
  const auto *rings = mol.getRingInfo();
  atoms.resize(n);
  kind.resize(n);
  first.reserve(n + 1);
  edges.reserve(2 * mol.getNumBonds());
  for (const auto atom : mol.atoms()) {
    const int i = atom->getIdx();
    auto &a = atoms[i];
    const bool aromatic = atom->getIsAromatic();
    a[kElement] = atom->getAtomicNum();
    a[kAromatic] = aromatic;
    a[kAliphatic] = !aromatic;
    a[kType] = a[kElement] + 1000 * aromatic;
    a[kHydrogens] = atom->getTotalNumHs(true);
    a[kTotalDegree] = atom->getTotalDegree();
    a[kDegree] = atom->getDegree();
    a[kCharge] = atom->getFormalCharge();
    a[kRings] = rings->numAtomRings(i);
    a[kInRing] = a[kRings] != 0;
    a[kIsotope] = std::min(atom->getIsotope(), 32767u);
    a[kValence] = atom->getTotalValence();
    kind[i] = atom_class(a[kElement], aromatic, a[kInRing], a[kCharge]);
    classes.set(kind[i]);
    first.push_back(edges.size());
    for (const auto bond : mol.atomBonds(atom)) {
      BondMask mask = 1 << order_index(bond->getBondType());
      if (rings->numBondRings(bond->getIdx())) mask <<= 5;
      edges.push_back({static_cast<uint16_t>(bond->getOtherAtomIdx(i)),
                       static_cast<uint16_t>(bond->getIdx()), mask});
    }
  }
  first.push_back(edges.size());
}

void Budget::spend() {
  if (left-- == 0) {
    left = 0;
    throw Refusal(RETORT_BUDGET, "the pattern search took too many steps");
  }
}

Pattern::Pattern(const std::string &smarts) {
  std::unique_ptr<RDKit::ROMol> query(RDKit::SmartsToMol(smarts));
  if (!query || query->getNumAtoms() == 0) {
    throw Refusal(RETORT_SYNTAX, "not a SMARTS pattern");
  }
  *this = Pattern(*query, false);
}

Pattern::Pattern(const RDKit::ROMol &query, bool anchored) {
  if (query.getNumAtoms() > kMaxAtoms) throw unsupported("more than 256 atoms");
  std::vector<uint16_t> tests;
  for (const auto atom : query.atoms()) {
    if (!atom->hasQuery()) throw unsupported("an atom without a query");
    tests.push_back(compile(static_cast<const RDKit::QueryAtom *>(atom)->getQuery()));
  }
  choose_order(query, anchored, tests, bond_masks(query));
}

Pattern Pattern::of_molecule(const RDKit::ROMol &mol) {
  if (mol.getNumAtoms() > kMaxAtoms) throw unsupported("more than 256 atoms");
  Pattern p;
  std::vector<uint16_t> tests;
  for (const auto atom : mol.atoms()) {
    Test all;
    all.op = Test::kAnd;
    const auto leaf = [&](Field field, int value) {
      Test t;
      t.op = Test::kEqual;
      t.field = field;
      t.value = value;
      all.children.push_back(p.tests_.size());
      p.tests_.push_back(t);
    };
    leaf(kType, atom->getAtomicNum() + 1000 * atom->getIsAromatic());
    if (atom->getFormalCharge()) leaf(kCharge, atom->getFormalCharge());
    if (atom->getIsotope()) leaf(kIsotope, std::min(atom->getIsotope(), 32767u));
    tests.push_back(p.tests_.size());
    p.tests_.push_back(all);
  }
  p.choose_order(mol, false, tests, bond_masks(mol));
  return p;
}

template <class Query>
uint16_t Pattern::compile(const Query *q) {
  const std::string &what = q->getDescription();
  Test t;
  t.negate = q->getNegation();
  if (what == "AtomAnd" || what == "AtomOr" || what == "AtomXor") {
    t.op = what == "AtomAnd" ? Test::kAnd : what == "AtomOr" ? Test::kOr : Test::kXor;
    for (auto c = q->beginChildren(); c != q->endChildren(); ++c) {
      t.children.push_back(compile(c->get()));
    }
  } else if (what == "AtomNull") {
    t.op = Test::kAll;
  } else if (what == "RecursiveStructure") {
    t.op = Test::kRecursive;
    const auto *inner = static_cast<const RDKit::RecursiveStructureQuery *>(q)->getQueryMol();
    t.children.push_back(inner_.size());
    inner_.push_back(Pattern(*inner, true));
  } else {
    const auto *equal = dynamic_cast<const RDKit::ATOM_EQUALS_QUERY *>(q);
    t.op = Test::kEqual;
    if (!equal || !field_of(what, t.field)) throw unsupported(what);
    t.value = equal->getVal();
    if (t.field == kRings && t.value < 0) {  // [R] without a number: in any ring
      t.field = kInRing;
      t.value = 1;
    }
  }
  tests_.push_back(t);
  return tests_.size() - 1;
}

// Which classes of atoms can pass a test; exact tells that an atom of such a class always does,
// without which a negation says nothing.
Pattern::Possible Pattern::possible(uint16_t index) const {
  const Test &t = tests_[index];
  Possible p{Classes().set(), false};
  const auto same = [](int element) { return element_class(element); };
  if (t.op == Test::kAll) {
    p.exact = true;
  } else if (t.op == Test::kAnd || t.op == Test::kOr) {
    const bool all = t.op == Test::kAnd;
    p = {all ? Classes().set() : Classes(), true};
    for (uint16_t c : t.children) {
      const Possible q = possible(c);
      p.set = all ? p.set & q.set : p.set | q.set;
      p.exact = p.exact && q.exact;
    }
  } else if (t.op == Test::kRecursive) {
    p = {inner_[t.children[0]].root(), false};
  } else if (t.op == Test::kEqual && (t.field == kType || t.field == kElement)) {
    const int element = t.value % 1000, aromatic = t.value / 1000;
    p.set = where([&](int e, bool ar, bool, int) {
      return e == same(element) && (t.field == kElement || ar == aromatic);
    });
    p.exact = same(element) != kElements - 1;
  } else if (t.op == Test::kEqual && (t.field == kAromatic || t.field == kAliphatic)) {
    const bool want = (t.field == kAromatic) == (t.value != 0);
    p = {where([&](int, bool ar, bool, int) { return ar == want; }), true};
  } else if (t.op == Test::kEqual && (t.field == kInRing || t.field == kRings)) {
    p = {where([&](int, bool, bool ring, int) { return ring == (t.value != 0); }),
         t.field == kInRing || t.value == 0};
  } else if (t.op == Test::kEqual && t.field == kCharge) {
    const int sign = t.value == 0 ? 0 : t.value > 0 ? 1 : 2;
    p = {where([&](int, bool, bool, int s) { return s == sign; }), t.value == 0};
  }
  if (!t.negate) return p;
  return p.exact ? Possible{~p.set, true} : Possible{Classes().set(), false};
}

void Pattern::choose_order(const RDKit::ROMol &query, bool anchored,
                           const std::vector<uint16_t> &tests,
                           const std::vector<BondMask> &bonds) {
  std::vector<Classes> classes;
  for (uint16_t t : tests) classes.push_back(possible(t).set);
  int root = 0;
  for (size_t i = 1; !anchored && i < classes.size(); ++i) {
    if (classes[i].count() < classes[root].count()) root = i;
  }
  order(query, root, tests, bonds, classes);
}

void Pattern::order(const RDKit::ROMol &query, int root, const std::vector<uint16_t> &tests,
                    const std::vector<BondMask> &bonds, const std::vector<Classes> &classes) {
  std::vector<int> place(query.getNumAtoms(), -1);
  const std::function<void(int, int, int)> visit = [&](int atom, int parent, int through) {
    place[atom] = steps_.size();
    Step step{static_cast<int16_t>(parent), through < 0 ? kAnyBond : bonds[through], tests[atom],
              classes[atom], {}};
    const auto *a = query.getAtomWithIdx(atom);
    for (const auto bond : query.atomBonds(a)) {
      const int other = place[bond->getOtherAtomIdx(atom)];
      if (other >= 0 && other != place[atom] && static_cast<int>(bond->getIdx()) != through) {
        step.closures.push_back({static_cast<uint16_t>(other), bonds[bond->getIdx()]});
      }
    }
    steps_.push_back(step);
    for (const auto bond : query.atomBonds(a)) {
      const int other = bond->getOtherAtomIdx(atom);
      if (place[other] < 0) visit(other, place[atom], bond->getIdx());
    }
  };
  visit(root, -1, -1);
  for (size_t i = 0; i < place.size(); ++i) {
    if (place[i] < 0) visit(i, -1, -1);
  }
}

bool Pattern::passes(const Graph &g, uint16_t test, int atom, Budget &budget) const {
  const Test &t = tests_[test];
  bool ok = true;
  switch (t.op) {
    case Test::kEqual: ok = g.atoms[atom][t.field] == t.value; break;
    case Test::kAll: break;
    case Test::kAnd:
      ok = std::all_of(t.children.begin(), t.children.end(),
                       [&](uint16_t c) { return passes(g, c, atom, budget); });
      break;
    case Test::kOr:
      ok = std::any_of(t.children.begin(), t.children.end(),
                       [&](uint16_t c) { return passes(g, c, atom, budget); });
      break;
    case Test::kXor:
      ok = std::count_if(t.children.begin(), t.children.end(),
                         [&](uint16_t c) { return passes(g, c, atom, budget); }) == 1;
      break;
    case Test::kRecursive: ok = inner_[t.children[0]].at(g, atom, budget); break;
  }
  return ok != t.negate;
}

bool Pattern::extend(const Graph &g, int index, int *map, Budget &budget) const {
  if (index == size()) return true;
  const Step &step = steps_[index];
  const auto fits = [&](int atom) {
    budget.spend();
    if (!step.classes[g.kind[atom]]) return false;
    if (std::find(map, map + index, atom) != map + index) return false;
    for (const Closure &c : step.closures) {
      const auto *e = std::find_if(g.begin(atom), g.end(atom),
                                   [&](const Edge &x) { return x.to == map[c.earlier]; });
      if (e == g.end(atom) || !(e->kind & c.kinds)) return false;
    }
    if (!passes(g, step.test, atom, budget)) return false;
    map[index] = atom;
    return extend(g, index + 1, map, budget);
  };
  if (step.parent < 0) {
    for (size_t a = 0; a < g.atoms.size(); ++a) {
      if (fits(a)) return true;
    }
    return false;
  }
  const int from = map[step.parent];
  if (from < 0) return false;  // a hydrogen outside the graph has no further neighbours
  for (const Edge *e = g.begin(from); e != g.end(from); ++e) {
    if ((e->kind & step.kinds) && fits(e->to)) return true;
  }
  return false;
}

bool Pattern::plausible(const Graph &g) const {
  return std::all_of(steps_.begin(), steps_.end(),
                     [&](const Step &s) { return (s.classes & g.classes).any(); });
}

std::vector<int> Pattern::find(const Graph &g, Budget &budget) const {
  std::vector<int> map(size());
  if (size() > static_cast<int>(g.atoms.size()) || !plausible(g)) return {};
  return extend(g, 0, map.data(), budget) ? map : std::vector<int>();
}

bool Pattern::in(const Graph &g, Budget &budget) const {
  if (size() > static_cast<int>(g.atoms.size()) || !plausible(g)) return false;
  int map[kMaxAtoms];
  return extend(g, 0, map, budget);
}

bool Pattern::at(const Graph &g, int atom, Budget &budget) const {
  budget.spend();
  if (!steps_[0].classes[g.kind[atom]] || !passes(g, steps_[0].test, atom, budget)) return false;
  int map[kMaxAtoms];
  map[0] = atom;
  return extend(g, 1, map, budget);
}

bool Pattern::at_hydrogen_of(const Graph &g, int atom, Budget &budget) const {
  if (size() == 1) return true;
  const Step &next = steps_[1];
  if (!(next.kinds & kSingleChain) || !next.classes[g.kind[atom]] ||
      !passes(g, next.test, atom, budget)) {
    return false;
  }
  int map[kMaxAtoms];
  map[0] = -1;
  map[1] = atom;
  return extend(g, 2, map, budget);
}

int Pattern::count_bonds(const Graph &g, Budget &budget) const {
  const auto matches = [&](int a, int b, BondMask kind) {
    return (kind & steps_[1].kinds) && passes(g, steps_[0].test, a, budget) &&
           passes(g, steps_[1].test, b, budget);
  };
  int count = 0;
  for (size_t a = 0; a < g.atoms.size(); ++a) {
    for (const Edge *e = g.begin(a); e != g.end(a); ++e) {
      if (e->to > a) count += matches(a, e->to, e->kind) || matches(e->to, a, e->kind);
    }
  }
  return count;
}

}  // namespace retort
