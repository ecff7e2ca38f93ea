package chem

import (
	"context"
	"errors"

	"retort/chem/cores"
	"retort/chem/rdkit"
)

// Measure is a number that a [Panel] gives of each molecule.
type Measure struct {
	Kind MeasureKind
	// About is what the kind is about: the SMILES of a reference, a SMARTS pattern, the symbol of an element. The other
	// kinds have none.
	About string
}

// MeasureKind is a kind of number. What RDKit computes has RDKit's definition.
type MeasureKind = rdkit.Measure

// The kinds of measures. Similarities are Tanimoto's, of fingerprints that count how often each feature is there, as in
// GuacaMol: Σ min / Σ max. That of [Similarity] is of 2048 bits and therefore differs.
const (
	Morgan2Similarity MeasureKind = rdkit.Morgan2Similarity // to a molecule; ECFP4
	Morgan3Similarity MeasureKind = rdkit.Morgan3Similarity // to a molecule; ECFP6
	FeatureSimilarity MeasureKind = rdkit.FeatureSimilarity // to a molecule; FCFP4: Morgan, radius 2, of pharmacophoric features
	PairSimilarity    MeasureKind = rdkit.PairSimilarity    // to a molecule; pairs of atoms up to 10 bonds apart
	Contains          MeasureKind = rdkit.Contains          // 1 with a SMARTS pattern, 0 without
	SameScaffold      MeasureKind = rdkit.SameScaffold      // 1 with the Bemis-Murcko scaffold of a molecule, else 0; stereo is not compared
	RingCount         MeasureKind = rdkit.Rings
	AromaticRingCount MeasureKind = rdkit.AromaticRings
	RotatableBonds    MeasureKind = rdkit.Rotatable  // strict definition
	HydrogenDonors    MeasureKind = rdkit.Donors     // Lipinski's, as RDKit counts them
	HydrogenAcceptors MeasureKind = rdkit.Acceptors  // the same
	HeavyAtomCount    MeasureKind = rdkit.HeavyAtoms // all but hydrogen
	FractionSP3       MeasureKind = rdkit.FractionSP3
	ElementCount      MeasureKind = rdkit.Element  // atoms of an element, implicit hydrogens counted
	AtomCount         MeasureKind = rdkit.AllAtoms // all, hydrogens included
)

// Panel gives several numbers of each molecule at once, some of them in comparison with a reference. Any number of
// goroutines may use it.
type Panel struct{ native *rdkit.Panel }

// MeasureError says which measure of a panel cannot be computed, and why: an error of [Parse] or [NewQuery], or that
// there is no such element.
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
		if text, err = (Limits{}).Check(m.About); err != nil {
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

// Measure gives one row of numbers per molecule, working on all cores: the k-th of a row is that of the k-th measure,
// NaN where a pattern search took too many steps. When ctx ends it stops soon, with ctx's error.
func (p *Panel) Measure(ctx context.Context, molecules []*Molecule) ([][]float64, error) {
	rows := make([][]float64, len(molecules))
	width := p.native.Width()
	err := cores.Chunks(ctx, len(molecules), nil, func(_ context.Context, from, to int) error {
		texts := make([]string, to-from)
		for i := range texts {
			texts[i] = molecules[from+i].text
		}
		all := p.native.Measure(texts)
		for i := range texts {
			rows[from+i] = all[i*width : (i+1)*width : (i+1)*width]
		}
		return nil
	})
	return rows, err
}
