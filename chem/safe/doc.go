// Package safe writes, reads and changes molecules as SAFE: fragments separated by dots, with the bonds between them.
// (Noutahi et al., "Gotta be SAFE", Digital Discovery 3, 796, 2024; reference: github.com/datamol-io/safe 0.2.1.)
//
// The same molecule, cut into a ring, a carbonyl group and an amine, in the three forms of this package:
//
//	c13ccccc1.CN2C.C23=O             plain: a number that occurs in two fragments is a bond between them
//	c1<2>ccccc1.CN<1>C.C<1><2>=O     brackets: the same with <n>, and ring numbers start at 1 in each fragment
//	.c1ccccc1.C*=O.N(C)C             nested order, without numbers, for models: see [FromNested]
//
// A plain SAFE string is a SMILES string too. The bracket form is that of GenMol's second version (Lee et al.,
// arXiv:2501.06158). A number that occurs once is an open position, where something may be bonded; as an atom it is
// written [n*].
//
// # Where to look
//
//   - molecule to SAFE: [Encode]
//   - SAFE to molecule, joining its fragments: [Decode]
//   - the fragments of a SAFE string, one by one: [Fragments]
//   - cutting a molecule into pieces and joining some of them: [Cut], [Join]; two fragments to one molecule: [Bond]
//   - nested order: [Ends], [Nested], [Arrange], [FromNested]
//   - templates: [Placeholder], [RemovePlaceholders], [OpenRadicals]
//
// The files in testdata show what each does with molecules, as text.
package safe
