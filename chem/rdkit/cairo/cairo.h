/* The three cairo functions that RDKit's MolDraw2DCairo.h calls inline, declared as cairo's stable
 * ABI has them, so that building needs the cairo library only and not its development package. */
#ifndef RETORT_CAIRO_H
#define RETORT_CAIRO_H
#ifdef __cplusplus
extern "C" {
#endif
typedef struct _cairo cairo_t;
cairo_t *cairo_reference(cairo_t *cr);
void cairo_destroy(cairo_t *cr);
unsigned int cairo_get_reference_count(cairo_t *cr);
#ifdef __cplusplus
}
#endif
#endif
