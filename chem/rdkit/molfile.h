/* The C face of molfile.cc: molecules in MDL's format, the records of an SDF. */
#pragma once
#include "shim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Canonical SMILES of a mol block, V2000 or V3000. Stereo comes from wedges or 3D coordinates. */
retort_answer retort_read_molfile(const char *block, size_t size);

#ifdef __cplusplus
}
#endif
