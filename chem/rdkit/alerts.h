// Structural alerts of RDKit's filter catalogs.
#pragma once
#include "scores.h"

namespace retort {

// PAINS: 480 substructures of compounds that show in many assays (Baell and Holloway, J. Med. Chem. 53, 2719 (2010)).
// Brenk: 105 unwanted substructures (Brenk et al., ChemMedChem 3, 435 (2008)).
enum AlertCatalog { kPains, kBrenk };

// Counts the alerts of a catalog that a molecule contains, each once. Throws Refusal(RETORT_BUDGET) if the searches
// take too many steps.
int count_alerts(AlertCatalog catalog, const Graph &g);

}  // namespace retort
