// A small substructure engine over SMARTS that RDKit has parsed.
//
// RDKit's own matcher is general: each search builds a graph view, tabulates recursive parts under a mutex, and lists
// matches. The scores need 240 fixed small patterns per molecule, almost none of which match. So
//  - Graph reads the properties that patterns test from each atom once;
//  - Pattern compiles a pattern to tests of those numbers and to a search order;
//  - a pattern is skipped if one of its atoms has no candidate class in the molecule;
//  - a match is a depth-first search from one atom with a step budget. It writes only to its own stack, so threads may
//    share patterns and graphs.
// Matches are the same as RDKit's by construction (same leaf values, same bond tests). The golden files check it.
#pragma once
#include "molecule.h"

#include <array>
#include <bitset>
#include <vector>

namespace retort {

enum Field : uint8_t {
  kType,         // atomic number + 1000 if aromatic
  kElement,      // atomic number
  kAromatic,     // 0 or 1
  kAliphatic,    // 0 or 1
  kHydrogens,    // implicit and explicit
  kImplicit,     // hydrogens that are not atoms of the graph
  kTotalDegree,  // neighbours, hydrogens included
  kDegree,       // neighbours in the graph
  kCharge,
  kRings,        // rings of the symmetrised SSSR
  kInRing,       // 0 or 1
  kIsotope,
  kValence,
  kFields
};

// Coarse kinds of atoms (element x aromatic x ring x charge sign), for the "no candidate" check.
constexpr int kElements = 14;
constexpr int kClasses = kElements * 2 * 2 * 3;
using Classes = std::bitset<kClasses>;
int element_class(int element);

constexpr int kMaxPatternAtoms = 256;

// One bit per kind of bond: single, double, triple, aromatic, other; the same five in a ring.
using BondMask = uint16_t;
constexpr BondMask kAnyBond = 0x3ff;
constexpr BondMask kSingleChain = 1;
int order_index(RDKit::Bond::BondType type);  // 0 single, ... 4 other

struct Edge {
  uint16_t to;
  uint16_t bond;
  BondMask kind;
};

struct Graph {
  std::vector<std::array<int16_t, kFields>> atoms;
  std::vector<uint16_t> first;  // edges of atom i: [first[i], first[i + 1])
  std::vector<Edge> edges;
  std::vector<uint16_t> kind;  // class of atom i
  Classes classes;             // the union of all

  explicit Graph(const RDKit::ROMol &mol);
  const Edge *begin(int atom) const { return edges.data() + first[atom]; }
  const Edge *end(int atom) const { return edges.data() + first[atom + 1]; }
};

// The most steps of one search for a fragment, or of all searches for patterns in one molecule. A search for a fragment
// in a drug-like molecule takes tens to thousands of steps; two million take some tens of milliseconds.
constexpr uint64_t kMaxSteps = 2'000'000;

// The steps left for a search. spend throws Refusal(RETORT_BUDGET) if none is left.
struct Budget {
  uint64_t left;
  void spend();
};

class Pattern {
 public:
  explicit Pattern(const std::string &smarts);
  // If anchored, the search order starts at atom 0, as at() requires.
  Pattern(const RDKit::ROMol &query, bool anchored);
  // Returns a pattern of a molecule: elements, aromaticity, charges and isotopes if not zero, bond orders.
  static Pattern of_molecule(const RDKit::ROMol &mol);

  int size() const { return static_cast<int>(steps_.size()); }
  const Classes &root() const { return steps_[0].classes; }

  // in reports whether the pattern matches anywhere, at whether it matches with its atom 0 at this atom.
  bool in(const Graph &g, Budget &budget) const;
  bool at(const Graph &g, int atom, Budget &budget) const;
  // Like at, for a pattern whose atom 0 is a hydrogen outside the graph: matches the other atoms of the pattern, the
  // next one at this atom.
  bool at_hydrogen_of(const Graph &g, int atom, Budget &budget) const;
  // Returns the atoms of the first match in search order, empty if there is none.
  std::vector<int> find(const Graph &g, Budget &budget) const;
  // Counts the bonds that match a pattern of two atoms in either direction.
  int count_bonds(const Graph &g, Budget &budget) const;

 private:
  struct Test {  // a node of an atom's query tree
    enum Op : uint8_t { kEqual, kAll, kAnd, kOr, kXor, kRecursive } op = kAll;
    bool negate = false;
    Field field = kType;
    int16_t value = 0;
    std::vector<uint16_t> children;  // into tests_, or for kRecursive one index into inner_
  };
  struct Closure {
    uint16_t earlier;
    BondMask kinds;
  };
  struct Step {
    int16_t parent;  // an earlier step, or -1: a new component
    BondMask kinds;
    uint16_t test;
    Classes classes;
    std::vector<Closure> closures;
  };
  struct Possible {
    Classes set;
    bool exact;
  };

  Pattern() = default;
  void order(const RDKit::ROMol &query, int root, const std::vector<uint16_t> &tests,
             const std::vector<BondMask> &bonds, const std::vector<Classes> &classes);
  void choose_order(const RDKit::ROMol &query, bool anchored, const std::vector<uint16_t> &tests,
                    const std::vector<BondMask> &bonds);
  template <class Query>
  uint16_t compile(const Query *query);
  Possible possible(uint16_t test) const;
  bool passes(const Graph &g, uint16_t test, int atom, Budget &budget) const;
  bool extend(const Graph &g, int step, int *map, Budget &budget) const;
  bool plausible(const Graph &g) const;

  std::vector<Test> tests_;
  std::vector<Pattern> inner_;
  std::vector<Step> steps_;
};

}  // namespace retort
