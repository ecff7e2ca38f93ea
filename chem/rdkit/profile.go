package rdkit

// #include "shim.h"
import "C"

import (
	"unsafe"
)

// Properties is a set of properties to compute. The counts of a molecule are always computed.
type Properties uint32

// The properties that [Profiles] can compute.
const (
	Canonical Properties = C.RETORT_CANONICAL // canonical isomeric SMILES
	Formula   Properties = C.RETORT_FORMULA   // formula and weight
	LogP      Properties = C.RETORT_LOGP
	TPSA      Properties = C.RETORT_TPSA
	QED       Properties = C.RETORT_QED
	SA        Properties = C.RETORT_SA
	Morgan    Properties = C.RETORT_MORGAN
)

// Words is the length of a fingerprint of 2048 bits, in words of 64 bits.
const Words = 32

// Profile holds the properties of one molecule. Properties that were not wanted are zero.
type Profile struct {
	Failure                        *Failure // nil if the text is a molecule
	HeavyAtoms, Rings, LargestRing int
	Radicals                       int
	Canonical, Formula             string
	Weight, LogP, TPSA, SA, QED    float64
	// The properties behind QED, of the molecule without explicit hydrogens.
	QEDWeight, QEDLogP, QEDPSA                          float64
	Acceptors, Donors, Rotatable, AromaticRings, Alerts int
	Morgan                                              [Words]uint64
}

// Profiles computes the wanted properties of each molecule. A text that is not a molecule has a Failure and does not
// affect the others. The texts must be within the limits of package chem.
func Profiles(smiles []string, want Properties) []Profile {
	if len(smiles) == 0 {
		return nil
	}
	if want&SA != 0 {
		loadSA()
	}
	text, ends := join(smiles)
	raw := make([]C.retort_profile, len(smiles))
	var bits []uint64
	if want&Morgan != 0 {
		bits = make([]uint64, len(smiles)*Words)
	}
	var block *C.char
	var size C.size_t
	C.retort_profiles(text, ends, C.int32_t(len(smiles)), C.uint32_t(want), &raw[0],
		(*C.uint64_t)(unsafe.SliceData(bits)), &block, &size)
	texts := C.GoStringN(block, C.int(size))
	C.retort_free(unsafe.Pointer(block))

	out := make([]Profile, len(smiles))
	for i := range raw {
		out[i].fill(&raw[i], texts)
		if bits != nil {
			copy(out[i].Morgan[:], bits[i*Words:])
		}
	}
	return out
}

func (p *Profile) fill(r *C.retort_profile, texts string) {
	cut := func(t C.retort_text) string { return texts[t.at : t.at+t.size] }
	if r.status != C.RETORT_OK {
		p.Failure = &Failure{Status: Status(r.status), Atom: int(r.atom), Message: cut(r.message)}
		return
	}
	p.HeavyAtoms = int(r.heavy_atoms)
	p.Radicals = int(r.radicals)
	p.Rings = int(r.rings)
	p.LargestRing = int(r.largest_ring)
	p.Canonical = cut(r.canonical)
	p.Formula = cut(r.formula)
	p.Weight = float64(r.weight)
	p.LogP = float64(r.logp)
	p.TPSA = float64(r.tpsa)
	p.SA = float64(r.sa)
	p.QED = float64(r.qed)
	p.QEDWeight = float64(r.qed_weight)
	p.QEDLogP = float64(r.qed_logp)
	p.QEDPSA = float64(r.qed_psa)
	p.Acceptors = int(r.hba)
	p.Donors = int(r.hbd)
	p.Rotatable = int(r.rotatable)
	p.AromaticRings = int(r.aromatic_rings)
	p.Alerts = int(r.alerts)
}
