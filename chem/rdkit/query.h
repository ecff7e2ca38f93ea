// The pattern behind a retort_query of the C interface.
#pragma once
#include "pattern.h"

struct retort_query {
  retort::Pattern pattern;
};

namespace retort {

// Returns the atoms of the first match in the molecule, empty if there is none.
std::vector<int> find_match(const retort_query &query, const RDKit::ROMol &mol);

}  // namespace retort
