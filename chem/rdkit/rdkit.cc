// The C++ of the package, as one translation unit: reading RDKit's headers is nine tenths of the work of the compiler,
// and each further unit would read them again. A .hpp file is one subject; it is included here only, and what it shares
// with other subjects is in a .h file.

// RDConfig.h must come first: see molecule.h.
#include "molecule.h"

// Types in anonymous namespaces, here in included files, cannot clash with those of another translation unit.
#pragma GCC diagnostic ignored "-Wsubobject-linkage"

#include "alerts.hpp"
#include "brics.hpp"
#include "compare.hpp"
#include "compile.hpp"
#include "contains.hpp"
#include "crippen.hpp"
#include "depict.hpp"
#include "edit.hpp"
#include "graph.hpp"
#include "measure.hpp"
#include "molecule.hpp"
#include "molfile.hpp"
#include "mutate.hpp"
#include "parts.hpp"
#include "profile.hpp"
#include "qed.hpp"
#include "reactions.hpp"
#include "sa.hpp"
#include "safe.hpp"
#include "search.hpp"
#include "substituents.hpp"
