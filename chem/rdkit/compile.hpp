// Compiles RDKit's query trees to tests, masks and a search order.
#include "pattern.h"

#include <GraphMol/QueryAtom.h>
#include <GraphMol/QueryBond.h>
#include <GraphMol/QueryOps.h>
#include <GraphMol/SmilesParse/SmilesParse.h>

#include <algorithm>

namespace retort {
namespace {

using BondQuery = RDKit::QueryBond::QUERYBOND_QUERY;

// The leaves of a query tree differ only in the text of getDescription(). To recognise a leaf, its text is compared
// with the text of a leaf that RDKit's own functions build, so that no text of RDKit is repeated here.
template <class Query>
std::string description_of(Query *leaf) {
  const std::unique_ptr<Query> owned(leaf);
  return owned->getDescription();
}

template <class Derived, class Query>
const Derived *as(const Query *q) {
  return dynamic_cast<const Derived *>(q);
}

Refusal unsupported(const std::string &what) {
  return Refusal(RETORT_REFUSED, "unsupported in a pattern: " + what);
}

Classes where(const std::function<bool(int element, bool aromatic, bool ring, int sign)> &keep) {
  Classes set;
  for (int i = 0; i < kClasses; ++i) {
    set[i] = keep(i / 12, i / 6 % 2, i / 3 % 2, i % 3);
  }
  return set;
}

BondMask orders(BondMask chain) { return chain | chain << 5; }

BondMask bond_leaf(const BondQuery *q) {
  static const std::string single_or_aromatic = description_of(RDKit::makeSingleOrAromaticBondQuery());
  static const std::string in_ring = description_of(RDKit::makeBondIsInRingQuery());
  static const std::string order_is = description_of(RDKit::makeBondOrderEqualsQuery(RDKit::Bond::SINGLE));
  static const std::string any = description_of(RDKit::makeBondNullQuery());
  const std::string &what = q->getDescription();
  if (what == any) return kAnyBond;
  if (what == single_or_aromatic) return orders(1 | 8);
  const auto *equal = as<RDKit::BOND_EQUALS_QUERY>(q);
  if (!equal) throw unsupported(what);
  if (what == in_ring) return equal->getVal() ? 0x3e0 : 0x1f;
  const int order = order_index(static_cast<RDKit::Bond::BondType>(equal->getVal()));
  if (what != order_is || order == 4) throw unsupported(what);
  return orders(1 << order);
}

BondMask bond_mask(const BondQuery *q) {
  BondMask mask = 0;
  const bool all = as<RDKit::BOND_AND_QUERY>(q);
  if (all || as<RDKit::BOND_OR_QUERY>(q)) {
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

// Finds the field that an atom's leaf tests. Returns false if the engine does not know the leaf.
bool field_of(const std::string &description, Field &field) {
  using namespace RDKit;
  static const std::pair<std::string, Field> known[] = {
      {description_of(makeAtomTypeQuery(6, 0)), kType},
      {description_of(makeAtomNumQuery(6)), kElement},
      {description_of(makeAtomAromaticQuery()), kAromatic},
      {description_of(makeAtomAliphaticQuery()), kAliphatic},
      {description_of(makeAtomHCountQuery(1)), kHydrogens},
      {description_of(makeAtomImplicitHCountQuery(1)), kImplicit},
      {description_of(makeAtomTotalDegreeQuery(1)), kTotalDegree},
      {description_of(makeAtomExplicitDegreeQuery(1)), kDegree},
      {description_of(makeAtomFormalChargeQuery(1)), kCharge},
      {description_of(makeAtomInNRingsQuery(1)), kRings},
      {description_of(makeAtomInRingQuery()), kInRing},
      {description_of(makeAtomIsotopeQuery(1)), kIsotope},
      {description_of(makeAtomTotalValenceQuery(1)), kValence}};
  for (const auto &k : known) {
    if (description == k.first) {
      field = k.second;
      return true;
    }
  }
  return false;
}

}  // namespace

Pattern::Pattern(const std::string &smarts) {
  std::unique_ptr<RDKit::ROMol> query(RDKit::SmartsToMol(smarts));
  if (!query || query->getNumAtoms() == 0) {
    throw Refusal(RETORT_SYNTAX, "not a SMARTS pattern");
  }
  *this = Pattern(*query, false);
}

Pattern::Pattern(const RDKit::ROMol &query, bool anchored) {
  if (query.getNumAtoms() > kMaxPatternAtoms) throw unsupported("more than 256 atoms");
  std::vector<uint16_t> tests;
  for (const auto atom : query.atoms()) {
    if (!atom->hasQuery()) throw unsupported("an atom without a query");
    tests.push_back(compile(static_cast<const RDKit::QueryAtom *>(atom)->getQuery()));
  }
  choose_order(query, anchored, tests, bond_masks(query));
}

Pattern Pattern::of_molecule(const RDKit::ROMol &mol) {
  if (mol.getNumAtoms() > kMaxPatternAtoms) throw unsupported("more than 256 atoms");
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
  Test t;
  t.negate = q->getNegation();
  static const std::string anything = description_of(RDKit::makeAtomNullQuery());
  const bool all = as<RDKit::ATOM_AND_QUERY>(q);
  const bool any = as<RDKit::ATOM_OR_QUERY>(q);
  if (all || any || as<RDKit::ATOM_XOR_QUERY>(q)) {
    t.op = all ? Test::kAnd : any ? Test::kOr : Test::kXor;
    for (auto c = q->beginChildren(); c != q->endChildren(); ++c) {
      t.children.push_back(compile(c->get()));
    }
  } else if (q->getDescription() == anything) {
    t.op = Test::kAll;
  } else if (const auto *recursive = as<RDKit::RecursiveStructureQuery>(q)) {
    t.op = Test::kRecursive;
    t.children.push_back(inner_.size());
    inner_.push_back(Pattern(*recursive->getQueryMol(), true));
  } else {
    const auto *equal = as<RDKit::ATOM_EQUALS_QUERY>(q);
    t.op = Test::kEqual;
    if (!equal || !field_of(q->getDescription(), t.field)) throw unsupported(q->getDescription());
    t.value = equal->getVal();
    if (t.field == kRings && t.value < 0) {  // [R] without a number: in any ring
      t.field = kInRing;
      t.value = 1;
    }
  }
  tests_.push_back(t);
  return tests_.size() - 1;
}

// Returns the classes of atoms that can pass a test. exact means that every atom of these classes passes; a negation
// can exclude classes only then.
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

}  // namespace retort
