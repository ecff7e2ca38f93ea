package rdkit

// #include "shim.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Want is a set of things to compute. Parsing and counting is always done.
type Want uint32

// The things Profiles can compute.
const (
	Canonical Want = C.RETORT_CANONICAL // canonical isomeric SMILES
	Flat      Want = C.RETORT_FLAT      // canonical SMILES without stereo and isotopes
	Formula   Want = C.RETORT_FORMULA   // formula and weight
	LogP      Want = C.RETORT_LOGP
	TPSA      Want = C.RETORT_TPSA
	QED       Want = C.RETORT_QED
	SA        Want = C.RETORT_SA
	Morgan    Want = C.RETORT_MORGAN
)

// Words is the length of a fingerprint of 2048 bits.
const Words = 32

// Profile is what RDKit says about one molecule; fields that were not wanted are zero.
type Profile struct {
	Failure                        *Failure // nil if the molecule was understood
	HeavyAtoms, Rings, LargestRing int
	Radicals                       int
	Canonical, Flat, Formula       string
	Weight, LogP, TPSA, SA, QED    float64
	// The properties of QED, of the molecule without explicit hydrogens.
	QEDWeight, QEDLogP, QEDPSA                          float64
	Acceptors, Donors, Rotatable, AromaticRings, Alerts int
	Morgan                                              [Words]uint64
}

// Profiles computes what is wanted of each molecule. It never fails as a whole: a molecule that
// cannot be read has its Failure. The texts must be within the limits of package chem.
func Profiles(smiles []string, want Want) []Profile {
	if len(smiles) == 0 {
		return nil
	}
	if want&SA != 0 {
		loadSA()
	}
	text, ends, all, offsets := join(smiles)
	raw := make([]C.retort_profile, len(smiles))
	var bits []uint64
	if want&Morgan != 0 {
		bits = make([]uint64, len(smiles)*Words)
	}
	var block *C.char
	var size C.size_t
	C.retort_profiles(text, ends, C.int32_t(len(smiles)), C.uint32_t(want), &raw[0],
		(*C.uint64_t)(unsafe.SliceData(bits)), &block, &size)
	runtime.KeepAlive(all)
	runtime.KeepAlive(offsets)
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
	p.Flat = cut(r.flat)
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
