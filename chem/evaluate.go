package chem

import (
	"context"

	"retort/chem/cores"
	"retort/chem/rdkit"
)

// Facts is a set of things to compute in advance. A molecule computes what is missing when it is asked, one call at a
// time; a batch is faster.
type Facts = rdkit.Want

// The facts a batch can compute. Canonical SMILES and the counts are always there.
const (
	FactFlat        Facts = rdkit.Flat
	FactFormula     Facts = rdkit.Formula
	FactLogP        Facts = rdkit.LogP
	FactTPSA        Facts = rdkit.TPSA
	FactQED         Facts = rdkit.QED
	FactSA          Facts = rdkit.SA
	FactFingerprint Facts = rdkit.Morgan
	AllFacts        Facts = FactFlat | FactFormula | FactLogP | FactTPSA | FactQED | FactSA | FactFingerprint
)

// Options are the settings of a batch. The zero value is ready to use.
type Options struct {
	Facts  Facts  // to compute; 0 = only what [Parse] does
	Limits Limits // of each text
}

// Result is one row of a batch: a molecule, or why there is none.
type Result struct {
	Molecule *Molecule
	Err      error
}

// Evaluate reads many molecules on all cores. The i-th result belongs to the i-th text; a text that is not a molecule
// is an error of its row only. When ctx ends, Evaluate stops within about a chunk of 64 molecules and returns ctx's
// error, which is then also that of the rows without a result.
func Evaluate(ctx context.Context, smiles []string, o Options) ([]Result, error) {
	results := make([]Result, len(smiles))
	err := cores.Chunks(ctx, len(smiles), nil, func(_ context.Context, from, to int) error {
		evaluate(smiles[from:to], results[from:to], o)
		return nil
	})
	if err != nil {
		for i, r := range results {
			if r.Molecule == nil && r.Err == nil {
				results[i].Err = err
			}
		}
	}
	return results, err
}

func evaluate(smiles []string, results []Result, o Options) {
	texts := make([]string, 0, len(smiles))
	rows := make([]int, 0, len(smiles))
	for i, s := range smiles {
		text, err := o.Limits.Check(s)
		if err != nil {
			results[i].Err = err
			continue
		}
		texts = append(texts, text)
		rows = append(rows, i)
	}
	want := o.Facts | rdkit.Canonical
	for i, p := range rdkit.Profiles(texts, want) {
		r := &results[rows[i]]
		r.Molecule, r.Err = newMolecule(smiles[rows[i]], texts[i], p, want)
	}
}

// Warm loads the reference data and compiles the built-in patterns, some tens of milliseconds of work that otherwise
// happens in the first call that needs it.
func Warm() error { return rdkit.Warm() }
