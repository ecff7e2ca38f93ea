package chem

import (
	"context"
	"errors"

	"retort/chem/cores"
	"retort/chem/rdkit"
)

// Measure is a number that a [Panel] computes for each molecule.
type Measure struct {
	Kind MeasureKind
	// About is the parameter of the kind: the SMILES of a reference, a SMARTS pattern or the symbol of an element.
	// Other kinds have none.
	About string
}

// MeasureKind is a kind of number, as RDKit defines it.
type MeasureKind = rdkit.Measure

// The kinds of measures. Similarities are Tanimoto similarities of count fingerprints, Σ min / Σ max, as in GuacaMol.
// [Similarity] compares bit fingerprints and therefore differs.
//
// [SameScaffold] ignores stereo. Patterns of [Contains] are SMARTS with elements, charges, isotopes, hydrogens,
// degrees, valences, rings and recursive parts. Rarer features (ring sizes, hybridisation, ranges, stereo bonds) are
// refused.
const (
	Morgan2Similarity MeasureKind = rdkit.Morgan2Similarity // to a molecule; ECFP4
	Morgan3Similarity MeasureKind = rdkit.Morgan3Similarity // to a molecule; ECFP6
	FeatureSimilarity MeasureKind = rdkit.FeatureSimilarity // to a molecule; FCFP4: pharmacophoric features
	PairSimilarity    MeasureKind = rdkit.PairSimilarity    // to a molecule; pairs of atoms up to 10 bonds apart
	Contains          MeasureKind = rdkit.Contains          // 1 if the SMARTS pattern matches, else 0
	SameScaffold      MeasureKind = rdkit.SameScaffold      // 1 if the Bemis-Murcko scaffolds are equal, else 0
	RingCount         MeasureKind = rdkit.Rings
	AromaticRingCount MeasureKind = rdkit.AromaticRings
	RotatableBonds    MeasureKind = rdkit.Rotatable  // strict definition
	HydrogenDonors    MeasureKind = rdkit.Donors     // Lipinski's, as RDKit counts them
	HydrogenAcceptors MeasureKind = rdkit.Acceptors  // the same
	HeavyAtomCount    MeasureKind = rdkit.HeavyAtoms // all but hydrogen
	FractionSP3       MeasureKind = rdkit.FractionSP3
	ElementCount      MeasureKind = rdkit.Element  // atoms of an element, implicit hydrogens included
	AtomCount         MeasureKind = rdkit.AllAtoms // all, hydrogens included
	// Structural alerts of a molecule, each counted once: 480 of PAINS (J. Med. Chem. 53, 2719, 2010) and 105 of Brenk
	// et al. (ChemMedChem 3, 435, 2008), as RDKit's filter catalogs have them. See [Molecule.Alerts].
	PAINSAlerts MeasureKind = rdkit.PAINS
	BrenkAlerts MeasureKind = rdkit.Brenk
)

// Panel computes several numbers of each molecule, some relative to a reference. Any number of goroutines may use it.
type Panel struct{ native *rdkit.Panel }

// MeasureError says which measure of a panel is invalid. Err is an error of [Parse], or says that SMARTS or the symbol
// of an element is invalid.
type MeasureError struct {
	Index int
	Err   error
}

func (e *MeasureError) Error() string { return e.Err.Error() }

func (e *MeasureError) Unwrap() error { return e.Err }

// NewPanel compiles measures. The error is a [*MeasureError].
func NewPanel(measures ...Measure) (*Panel, error) {
	p := &Panel{native: rdkit.NewPanel()}
	for i, m := range measures {
		if err := p.add(m); err != nil {
			return nil, &MeasureError{Index: i, Err: err}
		}
	}
	return p, nil
}

func (p *Panel) add(m Measure) error {
	text := m.About
	if m.Kind <= SameScaffold {
		var err error
		if text, err = Check(m.About); err != nil {
			return err
		}
	}
	err := p.native.Add(m.Kind, text)
	var f *rdkit.Failure
	switch {
	case errors.As(err, &f) && m.Kind == Contains && f.Status == rdkit.Syntax:
		return &SyntaxError{Text: m.About, Position: -1, Reason: "not a SMARTS pattern"}
	case errors.As(err, &f) && f.Status == rdkit.Refused:
		return f
	case err != nil:
		return Explain(m.About, err)
	}
	return nil
}

// Measure returns one row per molecule with one number per measure, computed on all cores. A number is NaN if a pattern
// search took too many steps. When ctx ends, Measure stops soon and returns the error of ctx.
func (p *Panel) Measure(ctx context.Context, molecules []*Molecule) ([][]float64, error) {
	rows := make([][]float64, len(molecules))
	width := p.native.Width()
	err := cores.Chunks(ctx, len(molecules), nil, func(_ context.Context, from, to int) error {
		texts := make([]string, to-from)
		for i := range texts {
			texts[i] = molecules[from+i].text
		}
		numbers := p.native.Measure(texts)
		for i := range texts {
			rows[from+i] = numbers[i*width : (i+1)*width : (i+1)*width]
		}
		return nil
	})
	return rows, err
}
