package chem

import (
	"context"

	"retort/chem/cores"
	"retort/chem/rdkit"
)

// Facts is a set of properties to compute in advance. A molecule computes a missing property at the first call of its
// method, which is slower than a batch.
type Facts = rdkit.Properties

// The facts that a batch can compute. It always computes canonical SMILES and the counts.
const (
	NoFacts         Facts = 0
	FactFormula     Facts = rdkit.Formula
	FactLogP        Facts = rdkit.LogP
	FactTPSA        Facts = rdkit.TPSA
	FactQED         Facts = rdkit.QED
	FactSA          Facts = rdkit.SA
	FactFingerprint Facts = rdkit.Morgan
)

// Result is one row of a batch: a molecule or an error.
type Result struct {
	Molecule *Molecule
	Err      error
}

// Evaluate reads SMILES on all cores and computes the facts of each molecule. The i-th result belongs to the i-th text,
// and a text that is not a molecule is an error of its row only. When ctx ends, Evaluate stops after the current chunks
// of up to 64 molecules and returns the error of ctx, which is also the error of each row without a result.
func Evaluate(ctx context.Context, smiles []string, facts Facts) ([]Result, error) {
	results := make([]Result, len(smiles))
	err := cores.Chunks(ctx, len(smiles), nil, func(_ context.Context, from, to int) error {
		evaluate(smiles[from:to], results[from:to], facts|rdkit.Canonical)
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

func evaluate(smiles []string, results []Result, facts Facts) {
	texts := make([]string, 0, len(smiles))
	rows := make([]int, 0, len(smiles))
	for i, s := range smiles {
		text, err := Check(s)
		if err != nil {
			results[i].Err = err
			continue
		}
		texts = append(texts, text)
		rows = append(rows, i)
	}
	for i, p := range rdkit.Profiles(texts, facts) {
		r := &results[rows[i]]
		r.Molecule, r.Err = newMolecule(smiles[rows[i]], texts[i], p, facts)
	}
}

// Warm loads the reference data and compiles the built-in patterns, which takes some tens of milliseconds. Otherwise
// the first call that needs them does so.
func Warm() error { return rdkit.Warm() }
