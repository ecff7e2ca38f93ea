package chem

import (
	"sync"

	"retort/chem/rdkit"
)

// Molecule is one molecule, or several that are separated by dots, as in a salt. It is immutable, and any number of
// goroutines may use it. Each property is computed once: in advance by [Evaluate], or at the first call of its method.
type Molecule struct {
	text  string // as parsed
	mu    sync.Mutex
	have  rdkit.Properties
	facts rdkit.Profile
}

// parseProperties are the properties that Parse computes.
const parseProperties = rdkit.Canonical | rdkit.Formula

// Parse reads SMILES within the limits. It accepts the same SMILES as RDKit, but no names and extensions after them.
// The error is a [*SyntaxError], a [*ValenceError], a [*KekulizeError], a [*LimitError] or ErrEmpty.
func Parse(smiles string) (*Molecule, error) {
	text, err := Check(smiles)
	if err != nil {
		return nil, err
	}
	return newMolecule(smiles, text, rdkit.Profiles([]string{text}, parseProperties)[0], parseProperties)
}

// newMolecule returns the molecule of a profile. Errors have the given text, with its white space.
func newMolecule(given, text string, p rdkit.Profile, have rdkit.Properties) (*Molecule, error) {
	if p.Failure != nil {
		return nil, Explain(given, p.Failure)
	}
	return &Molecule{text: text, have: have, facts: p}, nil
}

// get returns the profile with at least the wanted properties. It does not fail, since the molecule has been parsed.
func (m *Molecule) get(want rdkit.Properties) rdkit.Profile {
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

// String returns [Molecule.SMILES].
func (m *Molecule) String() string { return m.SMILES() }

// Formula is the molecular formula in Hill order, with the charge: "C9H7O4-".
func (m *Molecule) Formula() string { return m.get(rdkit.Formula).Formula }

// Weight is the average molecular weight in g/mol, hydrogens included.
func (m *Molecule) Weight() float64 { return m.get(rdkit.Formula).Weight }

// HeavyAtoms counts the atoms other than hydrogen.
func (m *Molecule) HeavyAtoms() int { return m.get(0).HeavyAtoms }

// Rings counts the rings of the symmetrised smallest set of smallest rings.
func (m *Molecule) Rings() int { return m.get(0).Rings }

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

// QEDProperties are the eight properties behind QED.
type QEDProperties struct {
	Weight        float64 // average molecular weight, g/mol
	LogP          float64 // Wildman-Crippen
	Acceptors     int     // hydrogen bond acceptors, as QED defines them
	Donors        int     // hydrogen bond donors
	PSA           float64 // topological polar surface area, square Angstrom
	Rotatable     int     // rotatable bonds, strict definition
	AromaticRings int     // rings that remain without aliphatic ring atoms
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

// The mean and the standard deviation over ZINC250k of the three terms of penalised logP, as published with GCPN.
const (
	meanLogP      = 2.4570953396190123
	deviationLogP = 1.434324401111988
	meanSA        = -3.0525811293166134
	deviationSA   = 0.8335207024513095
	meanRing      = -0.0485696876403053
	deviationRing = 0.2860212110245455
)

// PenalizedLogP is logP lowered by what makes a molecule hard to synthesise: logP - SA - ring, each term standardised
// on ZINC250k. ring is the number of atoms of the largest ring above 6. GCPN, MolDQN, the Therapeutics Data Commons,
// MolMIM and most tables from 2018 on report this form. JT-VAE's text does not standardise the terms, and its published
// starting values, like QMO, also omit the ring term.
//
// Rings are RDKit's smallest set of smallest rings. Code with networkx' cycle_basis, which is not minimal, differs for
// about one ZINC molecule in 180.
func (m *Molecule) PenalizedLogP() float64 {
	p := m.get(rdkit.LogP | rdkit.SA)
	ring := float64(max(0, p.LargestRing-6))
	return (p.LogP-meanLogP)/deviationLogP + (-p.SA-meanSA)/deviationSA + (-ring-meanRing)/deviationRing
}

// Alerts names the structural alerts that [PAINSAlerts] and [BrenkAlerts] count, such as "PAINS azo_A(324)". The error
// is ErrTooComplex if the search took too many steps.
func (m *Molecule) Alerts() ([]string, error) {
	names, err := rdkit.Alerts(m.text)
	if err != nil {
		return nil, Explain(m.text, err)
	}
	return names, nil
}
