/* The C interface to RDKit, all that Go may call.
 *
 *  - No C++ exception, no pointer into C++ memory and no RDKit object crosses it, except the handles retort_query,
 *    retort_panel, retort_reactions and retort_parent.
 *  - A molecule lives for one call only, except that of a retort_parent, which no call changes. So threads never share
 *    what RDKit changes.
 *  - Results go into memory of the caller or into one block that the caller frees with retort_free.
 *  - Texts are passed by pointer and length. A NUL byte is an ordinary byte, which every grammar refuses. */
#ifndef RETORT_CHEM_SHIM_H
#define RETORT_CHEM_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The status of one molecule. */
enum {
  RETORT_OK = 0,
  RETORT_SYNTAX = 1,   /* not the grammar of SMILES */
  RETORT_VALENCE = 2,  /* an atom has more bonds than it can have; atom names it */
  RETORT_KEKULIZE = 3, /* an aromatic part has no alternating bonds; atom names one of its atoms or is -1 */
  RETORT_EMPTY = 4,    /* no atoms */
  RETORT_REFUSED = 5,  /* valid, but the operation does not apply; the message says why */
  RETORT_BUDGET = 6,   /* a pattern search exceeded its step budget */
  RETORT_FAILED = 7    /* any other error of RDKit */
};

/* What to compute, as bits of want. Molecules are always parsed and counted. */
enum {
  RETORT_CANONICAL = 1 << 0,
  RETORT_FORMULA = 1 << 1, /* and the weight */
  RETORT_LOGP = 1 << 2,
  RETORT_TPSA = 1 << 3,
  RETORT_QED = 1 << 4,
  RETORT_SA = 1 << 5,
  RETORT_MORGAN = 1 << 6
};

/* A text inside the block returned with the profiles. */
typedef struct {
  uint32_t at, size;
} retort_text;

typedef struct {
  int32_t status;
  int32_t atom; /* index, in the order written, of the atom that a failure names, or -1 */
  int32_t heavy_atoms, rings, largest_ring;
  int32_t radicals; /* unpaired electrons */
  int32_t hba, hbd, rotatable, aromatic_rings, alerts; /* as QED defines them */
  double weight, logp, tpsa, sa, qed;
  double qed_weight, qed_logp, qed_psa;
  retort_text canonical, formula, message;
} retort_profile;

/* Profiles n molecules. text is their concatenation and ends[i] is where the i-th ends. morgan is NULL or has room for
 * n * 32 words, 2048 bits per molecule. *block receives the texts. */
void retort_profiles(const char *text, const uint32_t *ends, int32_t n, uint32_t want,
                     retort_profile *out, uint64_t *morgan, char **block, size_t *block_size);

/* Copies the table of the synthetic accessibility score: n fragment ids in ascending order, the index of each id's
 * score, and the scores. Call it once, before RETORT_SA is wanted. */
void retort_sa_table(const uint32_t *ids, const uint16_t *score_of, int32_t n,
                     const double *scores, int32_t n_scores);

/* The answer of the calls below: texts, each with a terminating NUL where there may be several. */
typedef struct {
  int32_t status, atom;
  char *data; /* the answer, or the message of a failure */
  size_t size;
} retort_answer;

/* Compiles the built-in patterns; later calls do nothing. */
retort_answer retort_warm(void);

enum { RETORT_SLICE_NONE = 0, RETORT_SLICE_BRICS = 1, RETORT_SLICE_SINGLE = 2 };

/* Cuts a molecule for SAFE, except at bonds whose cut would lose stereo. Answer: the canonical SMILES that was cut, its
 * graph key ("" without stereo), the labels of open dummies separated by spaces, then "atoms SMILES" per fragment.
 * Graph keys are equal for equal molecules, whatever the labels of their dummies. */
retort_answer retort_cut(const char *smiles, size_t size, int32_t slicer);

/* Reads a SAFE string whose open numbers are closed by dummies. If drop_dummies, each dummy becomes hydrogen, otherwise
 * [*:n] becomes [n*]. Answer: canonical SMILES, graph key. */
retort_answer retort_join(const char *smiles, size_t size, int32_t drop_dummies);

/* Answer: the canonical SMILES of the largest component, by heavy atoms, then weight, then byte order of the SMILES. */
retort_answer retort_largest(const char *smiles, size_t size);

/* Adds dummies to up to count random atoms that have a hydrogen and no dummy. Answer: canonical SMILES. */
retort_answer retort_open(const char *smiles, size_t size, int32_t count, uint64_t seed);

/* Cuts up to count random acyclic single bonds, one at a time. Answer: canonical "a.b" per bond, with dummies [1*]. */
retort_answer retort_halves(const char *smiles, size_t size, int32_t count, uint64_t seed);

/* A molecule prepared for changes. It is read-only, so threads may share it. */
typedef struct retort_parent retort_parent;

/* Prepares a molecule, or returns NULL and a failure. */
retort_parent *retort_parent_new(const char *smiles, size_t size, retort_answer *failure);
void retort_parent_free(retort_parent *parent);

/* Makes up to count molecules by one small random change each: of the configuration if stereo != 0, else of the graph.
 * They are distinct and differ from the parent. There are fewer if a number of attempts in proportion to count does not
 * find enough. Answer: per molecule its canonical SMILES and its facts, separated by spaces: heavy atoms, rings, atoms
 * of the largest ring, unpaired electrons, and the 32 words of its Morgan fingerprint in hexadecimal. */
retort_answer retort_mutations(const retort_parent *parent, int32_t count, int32_t stereo, uint64_t seed);

/* Makes up to count molecules from a part of each parent, cut at a single bond that is in no ring. The answer is that
 * of retort_mutations. */
retort_answer retort_crossovers(const retort_parent *first, const retort_parent *second, int32_t count, uint64_t seed);

/* Writes a fragment from each of its dummies. Answer per dummy: the SMILES that starts with it, with unlabelled
 * dummies, and the labels in the order of the text, separated by spaces. */
retort_answer retort_rooted(const char *smiles, size_t size);

/* A compiled pattern. It is read-only, so threads may share it. */
typedef struct retort_query retort_query;

/* Compiles a SMILES fragment without its dummies, or returns NULL and a failure. */
retort_query *retort_query_new(const char *smiles, size_t size, retort_answer *failure);
void retort_query_free(retort_query *query);

/* Writes one byte per molecule: 1 if it contains the pattern, 0 if not, 2 if it is not a molecule, 3 if the search
 * exceeded its step budget. */
void retort_contains(const retort_query *query, const char *text, const uint32_t *ends, int32_t n, uint8_t *out);

/* Compiled retrosynthetic templates. They are read-only, so threads may share them. */
typedef struct retort_reactions retort_reactions;

/* Compiles reaction SMARTS with one reactant each, the product of a synthesis, or returns NULL and a failure. text is
 * their concatenation and ends[i] is where the i-th ends. */
retort_reactions *retort_reactions_new(const char *text, const uint32_t *ends, int32_t n, retort_answer *failure);
void retort_reactions_free(retort_reactions *reactions);

/* Finds the precursors of a molecule. Configurations are ignored. Answer: per set of precursors, the index of the first
 * template that gives it, and their canonical SMILES separated by dots. */
retort_answer retort_precursors(const retort_reactions *reactions, const char *smiles, size_t size);

/* Answer: the canonical SMILES without configurations and atom map numbers. */
retort_answer retort_flat(const char *smiles, size_t size);

/* The kinds of measures, each with the text that retort_panel_add takes. Similarities are Tanimoto similarities of
 * count fingerprints to the molecule in the text. Atom pairs are up to 10 bonds apart. */
enum {
  RETORT_MORGAN2_SIMILARITY = 0,
  RETORT_MORGAN3_SIMILARITY = 1,
  RETORT_FEATURE_SIMILARITY = 2, /* Morgan of radius 2 of pharmacophoric features */
  RETORT_PAIR_SIMILARITY = 3,
  RETORT_CONTAINS = 4,      /* 1 if the SMARTS pattern in the text matches, else 0 */
  RETORT_SAME_SCAFFOLD = 5, /* 1 if the molecule in the text has the same Bemis-Murcko scaffold, else 0 */
  RETORT_RINGS = 6,
  RETORT_AROMATIC_RINGS = 7,
  RETORT_ROTATABLE = 8, /* bonds, strict definition */
  RETORT_DONORS = 9,
  RETORT_ACCEPTORS = 10,
  RETORT_HEAVY_ATOMS = 11,
  RETORT_FRACTION_SP3 = 12, /* of the carbon atoms */
  RETORT_ELEMENT = 13,      /* atoms of the element with the symbol in the text, implicit hydrogens counted */
  RETORT_ALL_ATOMS = 14,    /* hydrogens included */
  RETORT_PAINS = 15,        /* structural alerts of RDKit's catalogs PAINS A, B and C */
  RETORT_BRENK = 16         /* structural alerts of RDKit's catalog BRENK */
};

/* A list of measures. Threads may share it once all are added. */
typedef struct retort_panel retort_panel;

retort_panel *retort_panel_new(void);
retort_answer retort_panel_add(retort_panel *panel, int32_t kind, const char *text, size_t size);
void retort_panel_free(retort_panel *panel);

/* Writes a row of numbers per molecule, one per measure. A number is NaN if the text is not a molecule or a pattern
 * search exceeded its step budget. */
void retort_panel_measure(const retort_panel *panel, const char *text, const uint32_t *ends, int32_t n, double *out);

/* Finds the structural alerts of a molecule. Answer: "PAINS " or "Brenk " and RDKit's name of the alert, for each. */
retort_answer retort_alerts(const char *smiles, size_t size);

typedef struct {
  int32_t width, height; /* pixels */
  int32_t transparent;   /* no background */
  int32_t dark;          /* colours for a dark background */
} retort_canvas;

/* Draws a molecule as SVG. If reference is not empty, the layout follows that molecule and what changed from it is
 * marked; otherwise the first match of highlight, which may be NULL, is marked. Answer: the SVG, the number of marked
 * atoms. */
retort_answer retort_depict(const char *smiles, size_t size, const char *reference, size_t reference_size,
                            const retort_query *highlight, const retort_canvas *canvas);

/* Draws a molecule as PNG on white. */
retort_answer retort_png(const char *smiles, size_t size, int32_t width, int32_t height);

/* Writes a mol block (MDL V2000, or V3000 from 1000 atoms on) with 2D coordinates. */
retort_answer retort_molblock(const char *smiles, size_t size);

/* Reads a mol block, V2000 or V3000, with stereo from wedges or 3D coordinates. Answer: canonical SMILES. */
retort_answer retort_read_molfile(const char *block, size_t size);

void retort_free(void *block);

/* The version of RDKit, a static text. */
const char *retort_rdkit_version(void);

#ifdef __cplusplus
}
#endif
#endif
