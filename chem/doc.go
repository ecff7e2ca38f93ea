// Package chem is cheminformatics for Go programs: molecules from SMILES, the scores of drug discovery, similarity,
// substructures, small changes and pictures. RDKit's C++ computes them in process. They are equal to the results of
// Python RDKit of the same version (2022.09.3) to the last bit.
//
// # Molecules
//
//	m, err := chem.Parse("CC(=O)Oc1ccccc1C(=O)O")
//	m.SMILES()   // canonical
//	m.Formula()  // C9H8O4
//	m.QED()      // 0.5501...
//
// A [Molecule] is immutable, so goroutines may share it. Errors say what is wrong and where: [*SyntaxError],
// [*ValenceError], [*KekulizeError], [*LimitError].
//
// # Batches
//
// [Evaluate], [Editor.Offspring], [Panel.Measure] and [Query.Filter] process many molecules on all cores and check
// their context between chunks. A text that is not a molecule does not affect the other rows.
//
// # Limits
//
// RDKit cannot be interrupted and overflows the C stack on extreme input. So [Check] refuses
// texts of more than 512 bytes, 200 atoms or 64 rings, and every function calls it first.
//
// # Text
//
// Package safe reads and writes SAFE strings, package smiles splits SMILES into tokens.
//
// # Building
//
// All cgo is in package chem/rdkit. On Debian 12, building needs the packages g++, librdkit-dev, libboost-dev and
// libgoogle-perftools-dev, running needs librdkit1. The table of the SA score is embedded. [Warm] loads it, or else the
// first call that needs it.
//
// # Terms
//
//   - fact: a property that a batch can compute in advance, see [Facts]
//   - open position: an atom "*" at the end of a bond, where something may be bonded
//   - pattern: a substructure to search for
//   - panel: several numbers computed for each molecule together
//   - offspring: molecules derived from parents by mutation or crossover
package chem
