// Package chem is cheminformatics for Go programs: molecules from SMILES, the scores drug discovery asks for,
// similarity and pictures, computed in process by RDKit's C++ and equal to Python RDKit of the same version (2022.09.3)
// to the last bit.
//
// # Molecules
//
//	m, err := chem.Parse("CC(=O)Oc1ccccc1C(=O)O")
//	m.SMILES()   // canonical
//	m.Formula()  // C9H8O4
//	m.QED()      // 0.5501...
//
// A [Molecule] is read-only and may be shared by goroutines. Errors say what is wrong and where: [*SyntaxError],
// [*ValenceError], [*KekulizeError], [*LimitError].
//
// # Batches
//
// [Evaluate] works on many molecules on all cores, looks at its context between chunks, and makes a text that is no
// molecule the error of its row only.
//
// # Limits
//
// RDKit cannot be interrupted and overflows the C stack on extreme input. Every text is checked against [Limits] before
// RDKit sees it.
//
// # Text
//
// Package safe reads and writes SAFE strings, package smiles the tokens of SMILES.
//
// # Building
//
// All cgo is in package chem/rdkit. Debian 12: apt-get install g++ librdkit-dev libboost-dev libgoogle-perftools-dev; at run time librdkit1.
// Reference data (the SA table) is embedded and loaded at the first call that needs it, or by [Warm].
package chem
