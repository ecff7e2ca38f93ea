package chem

import (
	"math"
	"sync"

	"retort/chem/rdkit"
)

// Molecule is one molecule (or several, separated by dots, as in a salt). It does not change, and any number of
// goroutines may use it. What a score costs is paid once, when it is first asked for, or in advance by [Evaluate].
type Molecule struct {
	text  string // as parsed
	mu    sync.Mutex
	have  rdkit.Want
	facts rdkit.Profile
}

// identity is what Parse computes.
const identity = rdkit.Canonical | rdkit.Formula

// Parse reads SMILES, within the default [Limits]. It accepts what RDKit accepts, except names and extensions after the
// SMILES. The error is a [*SyntaxError], [*ValenceError], [*KekulizeError] or [*LimitError], or ErrEmpty.
func Parse(smiles string) (*Molecule, error) { return Limits{}.Parse(smiles) }

// Parse reads SMILES within these limits.
func (l Limits) Parse(smiles string) (*Molecule, error) {
	text, err := l.Check(smiles)
	if err != nil {
		return nil, err
	}
	return newMolecule(smiles, text, rdkit.Profiles([]string{text}, identity)[0], identity)
}

// Canonical returns RDKit's canonical isomeric SMILES: equal strings, equal molecules.
func Canonical(smiles string) (string, error) {
	m, err := Parse(smiles)
	if err != nil {
		return "", err
	}
	return m.SMILES(), nil
}

func newMolecule(given, text string, p rdkit.Profile, have rdkit.Want) (*Molecule, error) {
	if p.Failure != nil {
		return nil, Explain(given, p.Failure)
	}
	return &Molecule{text: text, have: have, facts: p}, nil
}

// get returns the facts with at least these among them. The molecule has been parsed before, so computing more of it
// does not fail.
func (m *Molecule) get(want rdkit.Want) rdkit.Profile {
	m.mu.Lock()
	defer m.mu.Unlock()
	if missing := want &^ m.have; missing != 0 {
		all := m.have | missing
		p := rdkit.Profiles([]string{m.text}, all)[0]
		if p.Failure == nil {
			m.facts, m.have = p, all
		}
	}
	return m.facts
}

// SMILES is the canonical isomeric SMILES.
func (m *Molecule) SMILES() string { return m.get(rdkit.Canonical).Canonical }

// String is the canonical isomeric SMILES.
func (m *Molecule) String() string { return m.SMILES() }

// Flat is the canonical SMILES without stereochemistry and without isotopes.
func (m *Molecule) Flat() string { return m.get(rdkit.Flat).Flat }

// Formula is the molecular formula in Hill order, with the charge: "C9H7O4-".
func (m *Molecule) Formula() string { return m.get(rdkit.Formula).Formula }

// Weight is the average molecular weight in g/mol, hydrogens included.
func (m *Molecule) Weight() float64 { return m.get(rdkit.Formula).Weight }

// HeavyAtoms counts the atoms other than hydrogen.
func (m *Molecule) HeavyAtoms() int { return m.get(0).HeavyAtoms }

// Rings counts the rings of the smallest set of smallest rings, made symmetrical.
func (m *Molecule) Rings() int { return m.get(0).Rings }

// LargestRing is the number of atoms of the largest ring of that set, 0 without rings.
func (m *Molecule) LargestRing() int { return m.get(0).LargestRing }

// Radicals is the number of unpaired electrons.
func (m *Molecule) Radicals() int { return m.get(0).Radicals }

// LogP is the Wildman-Crippen octanol-water partition coefficient, log10 (J. Chem. Inf. Comput. Sci. 39, 868, 1999).
func (m *Molecule) LogP() float64 { return m.get(rdkit.LogP).LogP }

// TPSA is the topological polar surface area in square Angstrom, of nitrogen and oxygen (J. Med. Chem. 43, 3714, 2000).
func (m *Molecule) TPSA() float64 { return m.get(rdkit.TPSA).TPSA }

// SA is the synthetic accessibility score, from 1 (easy) to 10 (hard) (J. Cheminf. 1, 8, 2009). It is NaN for a
// molecule without fragments, such as a lone hydrogen.
func (m *Molecule) SA() float64 { return m.get(rdkit.SA).SA }

// QED is the quantitative estimate of drug-likeness, from 0 to 1, with the mean weights (Nature Chemistry 4, 90, 2012).
func (m *Molecule) QED() float64 { return m.get(rdkit.QED).QED }

// Fingerprint is the Morgan fingerprint with radius 2 (ECFP4-like), without chirality.
func (m *Molecule) Fingerprint() Fingerprint { return Fingerprint(m.get(rdkit.Morgan).Morgan) }

// QEDProperties are the eight properties QED is made of.
type QEDProperties struct {
	Weight        float64 // average molecular weight, g/mol
	LogP          float64 // Wildman-Crippen
	Acceptors     int     // hydrogen bond acceptors, as QED defines them
	Donors        int     // hydrogen bond donors
	PSA           float64 // topological polar surface area, square Angstrom
	Rotatable     int     // rotatable bonds, strict definition
	AromaticRings int     // rings left when aliphatic ring atoms are deleted
	Alerts        int     // structural alerts found, of 116
}

// QEDProperties returns the properties behind [Molecule.QED].
func (m *Molecule) QEDProperties() QEDProperties {
	p := m.get(rdkit.QED)
	return QEDProperties{
		Weight: p.QEDWeight, LogP: p.QEDLogP, Acceptors: p.Acceptors, Donors: p.Donors,
		PSA: p.QEDPSA, Rotatable: p.Rotatable, AromaticRings: p.AromaticRings, Alerts: p.Alerts,
	}
}

// PenalizedLogP is logP lowered by what makes a molecule hard to make; the higher the better. Three definitions are in
// circulation: see [Penalty].
func (m *Molecule) PenalizedLogP(which Penalty) float64 {
	p := m.get(rdkit.LogP | rdkit.SA)
	return which.of(p.LogP, p.SA, max(0, p.LargestRing-6))
}

// Penalty is a definition of penalised logP. Rings are RDKit's smallest set of smallest rings; code that takes
// networkx' cycle_basis instead, which is not minimal, differs on about one molecule in 180 of ZINC.
type Penalty uint8

const (
	// Normalized is each term standardised on ZINC250k:
	//
	//	(logP - 2.4571) / 1.4343 + (-SA + 3.0526) / 0.8335 + (-ring + 0.0486) / 0.2860
	//
	// with all digits in the code. This is what GCPN, MolDQN, the Therapeutics Data Commons, MolMIM and most tables
	// from 2018 on report, constrained optimisation included.
	Normalized Penalty = iota
	// Raw is logP - SA - ring, with ring = max(0, atoms of the largest ring - 6): the definition in the text of Kusner
	// et al. and Jin et al. (JT-VAE).
	Raw
	// NoRing is logP - SA. The 800 start values published with JT-VAE's constrained optimisation are these (799 of 800
	// to 1e-11), and QMO optimises it.
	NoRing
)

// The mean and standard deviation of each term over ZINC250k, as published with GCPN.
const (
	meanLogP, deviationLogP = 2.4570953396190123, 1.434324401111988
	meanSA, deviationSA     = -3.0525811293166134, 0.8335207024513095
	meanRing, deviationRing = -0.0485696876403053, 0.2860212110245455
)

func (p Penalty) of(logp, sa float64, ring int) float64 {
	switch p {
	case Normalized:
		return (logp-meanLogP)/deviationLogP + (-sa-meanSA)/deviationSA +
			(-float64(ring)-meanRing)/deviationRing
	case Raw:
		return logp - sa - float64(ring)
	case NoRing:
		return logp - sa
	}
	return math.NaN()
}
