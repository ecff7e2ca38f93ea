// Small random changes of a molecule's graph, shared by edit.hpp, mutate.hpp and substituents.hpp.
//
// A change edits a draft: a kekulised copy of the molecule with implicit hydrogens, so that it only has to add and
// remove atoms and bonds. RDKit then recomputes valences, hydrogens and aromaticity, or refuses the molecule.
#pragma once
#include "molecule.h"

#include <set>
#include <tuple>
#include <vector>

namespace retort {

using Draft = RDKit::RWMol;

// Upper bound of the heavy atoms of offspring, unless a parent has more. Molecules of medicinal chemistry, and those
// that the models were trained on, have up to about 60.
constexpr int kMaxAtoms = 60;

// A molecule prepared for changes.
struct Parent {
  std::unique_ptr<Draft> mol;  // kekulised, with ring information
  std::string smiles;          // canonical
  // Per atom. A fixed atom has an isotope, unpaired electrons, an element outside organic chemistry, or hydrogens that
  // do not follow from its bonds. Changes leave it and its bonds as they are.
  std::vector<char> fixed, aromatic;
  std::vector<int> hydrogens;
  std::vector<int> single_chain;  // indices of single bonds outside of rings between atoms that are not fixed
  int radicals = 0;               // unpaired electrons
  int oddities = 0;               // see oddities()

  explicit Parent(const std::string &smiles);
  int size() const { return static_cast<int>(mol->getNumAtoms()); }
};

// Counts features that chemists avoid: a halogen on N, O or S, an O-O bond, cumulated double bonds, a triple or
// cumulated bond in a ring of up to eight atoms, a double bond in a ring of three or four atoms or at a bridgehead, a
// chain of three nitrogens, a carbon with two OH or NH2. The molecule must have ring information.
int oddities(const RDKit::ROMol &mol);

// Returns the highest sum of bond orders that a change gives a neutral atom of an element, hydrogens not counted, or 0
// for an element that no change inserts.
int usual_valence(int element);

// Adds a single bond to a new neighbour in place of a hydrogen. The atom loses its configuration.
void connect(Draft &mol, int atom, int neighbour);

// Replaces the neighbour `old` of an atom of `before` by another one. The atom keeps its configuration.
void substitute(const RDKit::ROMol &before, Draft &mol, int atom, int old, int neighbour);

// Restores the configuration of `atom` after its bond to `old` was replaced by a new last bond. The atom has the index
// `from` in `before`.
void keep_configuration(const RDKit::ROMol &before, Draft &mol, int from, int old, int atom);

// Returns the atoms on the side of `to` of a bond that is in no ring, `to` first.
std::vector<int> far_side(const RDKit::ROMol &mol, int from, int to);

// Removes atoms. Indices of later atoms change.
void remove(Draft &mol, const std::vector<int> &atoms);

// Makes one random change of the graph. Returns false if the change drawn does not apply. The draft is a copy of the
// parent, here and below.
bool mutate(const Parent &parent, Draft &mol, Random &random);

// Changes the configuration of one random atom. Returns false if the atom drawn cannot have one.
bool change_stereo(const Parent &parent, Draft &mol, Random &random);

// The changes of substituents that mutate() draws from: substituents.hpp.
bool append_group(const Parent &parent, Draft &mol, Random &random);
bool replace_group(const Parent &parent, Draft &mol, Random &random);
bool delete_group(const Parent &parent, Draft &mol, Random &random);
bool move_group(const Parent &parent, Draft &mol, Random &random);

// The crossovers tried before: the parent that comes first, then the cut bond of each parent, from the atom that stays
// to the one that is lost.
using Tried = std::set<std::tuple<const Parent *, int, int, int, int>>;

// Joins a part of each parent, cut at a random single bond that is in no ring. Returns false if this crossover was
// tried before or does not apply.
bool cross(const Parent &first, const Parent &second, Draft &mol, Tried &tried, Random &random);

}  // namespace retort
