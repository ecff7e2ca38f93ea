package rdkit

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Measure is a kind of number that a [Panel] computes: see shim.h.
type Measure int32

// The measures. The first four are Tanimoto similarities.
const (
	Morgan2Similarity Measure = C.RETORT_MORGAN2_SIMILARITY
	Morgan3Similarity Measure = C.RETORT_MORGAN3_SIMILARITY
	FeatureSimilarity Measure = C.RETORT_FEATURE_SIMILARITY
	PairSimilarity    Measure = C.RETORT_PAIR_SIMILARITY
	Contains          Measure = C.RETORT_CONTAINS
	SameScaffold      Measure = C.RETORT_SAME_SCAFFOLD
	Rings             Measure = C.RETORT_RINGS
	AromaticRings     Measure = C.RETORT_AROMATIC_RINGS
	Rotatable         Measure = C.RETORT_ROTATABLE
	Donors            Measure = C.RETORT_DONORS
	Acceptors         Measure = C.RETORT_ACCEPTORS
	HeavyAtoms        Measure = C.RETORT_HEAVY_ATOMS
	FractionSP3       Measure = C.RETORT_FRACTION_SP3
	Element           Measure = C.RETORT_ELEMENT
	AllAtoms          Measure = C.RETORT_ALL_ATOMS
	PAINS             Measure = C.RETORT_PAINS
	Brenk             Measure = C.RETORT_BRENK
)

// Panel is a list of measures. Any number of goroutines may use it once all measures are added.
type Panel struct {
	c     *C.retort_panel
	width int
}

// NewPanel returns a panel without measures.
func NewPanel() *Panel {
	p := &Panel{c: C.retort_panel_new()}
	runtime.AddCleanup(p, func(c *C.retort_panel) { C.retort_panel_free(c) }, p.c)
	return p
}

// Add adds a measure. text is the reference molecule, the pattern or the element, for measures that have one.
func (p *Panel) Add(kind Measure, text string) error {
	data, size := chars(text)
	_, err := take(C.retort_panel_add(p.c, C.int32_t(kind), data, size))
	runtime.KeepAlive(p)
	if err == nil {
		p.width++
	}
	return err
}

// Width returns the number of measures.
func (p *Panel) Width() int { return p.width }

// Measure returns the concatenated rows of the molecules, each of Width numbers. A number that cannot be computed is
// NaN.
func (p *Panel) Measure(smiles []string) []float64 {
	if len(smiles) == 0 || p.width == 0 {
		return nil
	}
	out := make([]float64, len(smiles)*p.width)
	text, ends := join(smiles)
	C.retort_panel_measure(p.c, text, ends, C.int32_t(len(smiles)), (*C.double)(unsafe.Pointer(&out[0])))
	runtime.KeepAlive(p)
	return out
}

// Alerts returns the structural alerts of a molecule: "PAINS " or "Brenk " and RDKit's name of the alert, for each.
func Alerts(smiles string) ([]string, error) {
	data, size := chars(smiles)
	return fields(C.retort_alerts(data, size))
}
