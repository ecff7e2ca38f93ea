/* The C face of the shim: everything Go may ask of RDKit.
 *
 * Rules of this border
 *  - no C++ exception, no pointer into C++ memory and no RDKit object crosses it;
 *  - a molecule lives for one call only, so nothing RDKit mutates is ever shared by threads;
 *  - results are written into memory the caller gave, or into one block that the caller frees
 *    with retort_free;
 *  - texts are given by pointer and length: a NUL byte is an ordinary (refused) character. */
#ifndef RETORT_CHEM_SHIM_H
#define RETORT_CHEM_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What became of one molecule. */
enum {
  RETORT_OK = 0,
  RETORT_SYNTAX = 1,   /* not the grammar of SMILES */
  RETORT_VALENCE = 2,  /* an atom has more bonds than it can have; atom tells which */
  RETORT_KEKULIZE = 3, /* no alternating bonds for an aromatic part; atom = one of it, or -1 */
  RETORT_EMPTY = 4,    /* no atoms */
  RETORT_REFUSED = 5,  /* understood, but the operation does not apply; the message says why */
  RETORT_BUDGET = 6,   /* a pattern search took more steps than allowed */
  RETORT_FAILED = 7    /* anything else RDKit complained about */
};

/* What to compute (bits of want). Parsing and counts are always done. */
enum {
  RETORT_CANONICAL = 1 << 0,
  RETORT_FLAT = 1 << 1,    /* canonical SMILES without stereo and isotopes */
  RETORT_FORMULA = 1 << 2, /* and the weight */
  RETORT_LOGP = 1 << 3,
  RETORT_TPSA = 1 << 4,
  RETORT_QED = 1 << 5,
  RETORT_SA = 1 << 6,
  RETORT_MORGAN = 1 << 7
};

/* A text inside the block that came with the answer. */
typedef struct {
  uint32_t at, size;
} retort_text;

typedef struct {
  int32_t status;
  int32_t atom; /* index of the atom a failure names, in the order written; -1 = none */
  int32_t heavy_atoms, rings, largest_ring;
  int32_t radicals; /* unpaired electrons */
  int32_t hba, hbd, rotatable, aromatic_rings, alerts; /* as QED counts them */
  double weight, logp, tpsa, sa, qed;
  double qed_weight, qed_logp, qed_psa;
  retort_text canonical, flat, formula, message;
} retort_profile;

/* Profiles n molecules. text holds them one after the other, ends[i] is where the i-th ends.
 * morgan may be NULL, otherwise it has room for n * 32 words (2048 bits each).
 * *block receives the texts. */
void retort_profiles(const char *text, const uint32_t *ends, int32_t n, uint32_t want,
                     retort_profile *out, uint64_t *morgan, char **block, size_t *block_size);

/* The table of the synthetic accessibility score: n fragment ids in ascending order, for each
 * the index of its score, and the scores. Copied. Must be given once, before RETORT_SA. */
void retort_sa_table(const uint32_t *ids, const uint16_t *score_of, int32_t n,
                     const double *scores, int32_t n_scores);

/* One answer of the calls below: texts separated by NUL. */
typedef struct {
  int32_t status, atom;
  char *data; /* the answer, or the message of a failure */
  size_t size;
} retort_answer;

/* Compiles the built-in patterns; later calls do nothing. */
retort_answer retort_warm(void);

/* BRICS bonds in RDKit's order: "a b la lb" per bond. */
retort_answer retort_brics(const char *smiles, size_t size);

enum { RETORT_SLICE_NONE = 0, RETORT_SLICE_BRICS = 1, RETORT_SLICE_SINGLE = 2, RETORT_SLICE_ROTATABLE = 3 };
enum { RETORT_DROP_STEREO = 1, RETORT_SHUFFLE_ATOMS = 2, RETORT_FREE_CUTS = 4 };

/* Cuts a molecule for SAFE. Answer: the SMILES cut, its graph key ("" without stereo), the open
 * dummy labels separated by spaces, how many bonds the slicer found, then for each fragment
 * "atoms SMILES". The graph key is equal for equal molecules whatever labels dummies have. */
retort_answer retort_cut(const char *smiles, size_t size, int32_t slicer, uint32_t flags,
                         uint64_t seed);

/* Reads a SAFE string whose open numbers have been closed by dummies; with drop_dummies each
 * dummy becomes hydrogen, otherwise [*:n] becomes [n*]. Answer: canonical SMILES, graph key. */
retort_answer retort_join(const char *smiles, size_t size, int32_t drop_dummies);

/* Canonical SMILES of the largest component: most heavy atoms, then greatest weight, then first
 * SMILES in byte order. */
retort_answer retort_largest(const char *smiles, size_t size);

/* Canonical SMILES of the Bemis-Murcko scaffold, without stereo; "" for a molecule without rings. */
retort_answer retort_murcko(const char *smiles, size_t size);

/* Puts a dummy on count atoms that have a hydrogen and no dummy yet, chosen by seed. */
retort_answer retort_open(const char *smiles, size_t size, int32_t count, uint64_t seed);

/* Cuts each of count acyclic single bonds, chosen by seed, on its own. Answer: "a.b" per bond,
 * canonical, with dummies [1*]. */
retort_answer retort_halves(const char *smiles, size_t size, int32_t count, uint64_t seed);

/* Up to count molecules that one small random change makes of a molecule: distinct, canonical, none of
 * them the molecule itself. stereo != 0: its configuration is what is changed. Fewer where attempts, a
 * number in proportion to count, do not find as many. After each comes a text of its facts: heavy atoms, rings,
 * atoms of the largest ring, unpaired electrons, and the 32 words of its Morgan fingerprint in hexadecimal. */
retort_answer retort_mutations(const char *smiles, size_t size, int32_t count, int32_t stereo, uint64_t seed);

/* The same of a part of one molecule and a part of another, each cut at a single bond in no ring. */
retort_answer retort_crossovers(const char *first, size_t first_size, const char *second, size_t second_size,
                                int32_t count, uint64_t seed);

/* A fragment written from each of its dummies: its SMILES, which begins with that dummy, dummies
 * without their labels; then the labels in the order of the text, separated by spaces. */
retort_answer retort_rooted(const char *smiles, size_t size);

/* A compiled pattern; read-only after it is made, so threads may share it. */
typedef struct retort_query retort_query;

/* smarts != 0: the text is SMARTS; otherwise a SMILES fragment whose dummies are left out. */
retort_query *retort_query_new(const char *text, size_t size, int32_t smarts, int32_t *atoms,
                               retort_answer *failure);
void retort_query_free(retort_query *query);

/* One byte per molecule: 1 contains the pattern, 0 does not, 2 could not be read, 3 over budget. */
void retort_contains(const retort_query *query, const char *text, const uint32_t *ends, int32_t n,
                     uint8_t *out);

/* What a panel can measure. The similarities are Tanimoto's of fingerprints that count their features, to the molecule
 * given as text; the atom pairs are those up to 10 bonds apart. */
enum {
  RETORT_MORGAN2_SIMILARITY = 0,
  RETORT_MORGAN3_SIMILARITY = 1,
  RETORT_FEATURE_SIMILARITY = 2, /* Morgan of radius 2 of pharmacophoric features */
  RETORT_PAIR_SIMILARITY = 3,
  RETORT_CONTAINS = 4,      /* 1 if the SMARTS pattern given as text is there, else 0 */
  RETORT_SAME_SCAFFOLD = 5, /* 1 if the Bemis-Murcko scaffold is that of the molecule given as text, else 0 */
  RETORT_RINGS = 6,
  RETORT_AROMATIC_RINGS = 7,
  RETORT_ROTATABLE = 8, /* bonds, strict definition */
  RETORT_DONORS = 9,
  RETORT_ACCEPTORS = 10,
  RETORT_HEAVY_ATOMS = 11,
  RETORT_FRACTION_SP3 = 12, /* of the carbon atoms */
  RETORT_ELEMENT = 13,      /* atoms of the element whose symbol is the text, implicit hydrogens counted */
  RETORT_ALL_ATOMS = 14     /* hydrogens included */
};

/* A list of measures; read-only once complete, so threads may share it. */
typedef struct retort_panel retort_panel;

retort_panel *retort_panel_new(void);
retort_answer retort_panel_add(retort_panel *panel, int32_t kind, const char *text, size_t size);
void retort_panel_free(retort_panel *panel);

/* One row per molecule with a number per measure, NaN where the molecule cannot be read or a pattern search took too
 * many steps. out has room for all. */
void retort_panel_measure(const retort_panel *panel, const char *text, const uint32_t *ends, int32_t n, double *out);

typedef struct {
  int32_t width, height; /* of one panel, pixels */
  int32_t columns;       /* of the grid */
  int32_t png;           /* 0 = SVG */
  int32_t transparent;
} retort_sheet;

/* Draws n molecules in a grid. legends as text; highlight may be NULL. */
retort_answer retort_draw(const char *text, const uint32_t *ends, const char *legends,
                          const uint32_t *legend_ends, int32_t n, const retort_query *highlight,
                          const retort_sheet *sheet);

/* Draws one molecule as SVG. reference may be empty: a molecule that this one comes from; it is laid out as that one
 * is, and what changed is marked. Otherwise highlight may say what is marked. dark: colours for a dark background.
 * Answer: the SVG, how many atoms are marked. */
retort_answer retort_depict(const char *smiles, size_t size, const char *reference, size_t reference_size,
                            const retort_query *highlight, int32_t dark, const retort_sheet *sheet);

/* A mol block (MDL V2000; V3000 from 1000 atoms on) with 2D coordinates. */
retort_answer retort_molblock(const char *smiles, size_t size);

/* RDKit's version, a static string. */
const char *retort_rdkit_version(void);

void retort_free(void *block);

#ifdef __cplusplus
}
#endif
#endif
