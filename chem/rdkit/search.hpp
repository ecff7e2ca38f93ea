// Searches a graph for a pattern.
#include <algorithm>

#include "pattern.h"

namespace retort {

void Budget::spend() {
  if (left-- == 0) {
    left = 0;
    throw Refusal(RETORT_BUDGET, "the pattern search took too many steps");
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
  if (from < 0) return false;  // a hydrogen outside the graph has no other neighbours
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
  int map[kMaxPatternAtoms];
  return extend(g, 0, map, budget);
}

bool Pattern::at(const Graph &g, int atom, Budget &budget) const {
  budget.spend();
  if (!steps_[0].classes[g.kind[atom]] || !passes(g, steps_[0].test, atom, budget)) return false;
  int map[kMaxPatternAtoms];
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
  int map[kMaxPatternAtoms];
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
