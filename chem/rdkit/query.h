// The pattern behind the handle of the C face.
#pragma once
#include "pattern.h"

struct retort_query {
  retort::Pattern pattern;
};

namespace retort {

// Atoms of the first match in the molecule, empty if there is none.
std::vector<int> highlighted(const retort_query &query, const RDKit::ROMol &mol);

}  // namespace retort
