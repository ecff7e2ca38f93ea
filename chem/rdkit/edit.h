// Small random changes of a molecule's graph: what edit.cc, mutate.cc and substituents.cc share.
//
// A change is made on a copy of the molecule whose aromatic bonds are written as single and double
// ones and whose hydrogens are implied, so that adding or removing a bond is all there is to do.
// RDKit then finds valences, hydrogens and aromaticity anew, or refuses.
#pragma once
#include "molecule.h"

#include <set>
#include <tuple>
#include <vector>

namespace retort {

using Draft = RDKit::RWMol;

// The most atoms, hydrogens not counted, of what is made, unless a molecule had more before a change: molecules of
// medicinal chemistry have up to about 60, and so have those that the models were trained on.
constexpr int kMostAtoms = 60;

// A molecule ready to be changed.
struct Parent {
  std::unique_ptr<Draft> mol;  // kekulised, with ring information
  std::string smiles;          // canonical
  // By atom. A fixed atom has an isotope, unpaired electrons, an element that is not of organic
  // chemistry or hydrogens that do not follow from its bonds: it and its bonds stay as they are.
  std::vector<char> fixed, aromatic;
  std::vector<int> hydrogens;
  std::vector<int> single_chain;  // bonds, by index: single, in no ring, between atoms not fixed
  int radicals = 0;               // unpaired electrons
  int oddities = 0;               // see oddities()

  explicit Parent(const std::string &smiles);
  int size() const { return static_cast<int>(mol->getNumAtoms()); }
};

// Counts what chemists would not draw: a halogen on N, O or S, O beside O, cumulated double bonds,
// a triple or cumulated bond in a ring of up to eight atoms, a double bond in a ring of three or four
// or at a bridgehead, a chain of three nitrogens, a carbon with two OH or NH2. Needs ring information.
int oddities(const RDKit::ROMol &mol);

// The most bonds, counted by order, that a neutral atom of an element has with atoms other than
// hydrogen here; 0 for an element that no change may put in.
int usual_valence(int element);

// A single bond to a new neighbour, in place of a hydrogen. The configuration of the atom is lost.
void connect(Draft &mol, int atom, int neighbour);

// Gives an atom of `before` a new neighbour in the place of the old one. The atom keeps its
// configuration.
void substitute(const RDKit::ROMol &before, Draft &mol, int atom, int old, int neighbour);

// Keeps the configuration of `atom`, which was `from` in `before` and has lost its bond to `old` there
// and got a new last one.
void renew(const RDKit::ROMol &before, Draft &mol, int from, int old, int atom);

// The atoms on the far side of a bond that is in no ring, the atom `to` first, without `from`'s side.
std::vector<int> beyond(const RDKit::ROMol &mol, int from, int to);

// Removes atoms. Indices of later atoms change.
void remove(Draft &mol, const std::vector<int> &atoms);

// One random change of a copy of the parent; false where it does not apply. No stereo by itself.
bool mutate(const Parent &parent, Draft &mol, Random &random);

// The configuration of one stereocentre or double bond changed; false without one.
bool change_stereo(const Parent &parent, Draft &mol, Random &random);

// Changes of substituents (substituents.cc): each one of the changes that mutate() draws from.
bool append_group(const Parent &parent, Draft &mol, Random &random);
bool replace_group(const Parent &parent, Draft &mol, Random &random);
bool delete_group(const Parent &parent, Draft &mol, Random &random);
bool move_group(const Parent &parent, Draft &mol, Random &random);

// The crossovers that were made before: the parent whose first part is kept, and the cut bond of each, from the atom
// that is kept to the one that is not.
using Tried = std::set<std::tuple<const Parent *, int, int, int, int>>;

// A part of first and a part of second, each cut at a single bond in no ring, joined there. False where it was tried.
bool cross(const Parent &first, const Parent &second, Draft &mol, Tried &tried, Random &random);

}  // namespace retort
