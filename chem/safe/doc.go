// Package safe writes, reads and changes molecules as SAFE: fragments separated by dots, with the bonds between them.
// (Noutahi et al., "Gotta be SAFE", Digital Discovery 3, 796, 2024; reference: github.com/datamol-io/safe 0.2.1.)
//
// The same molecule, cut into a ring, a carbonyl group and an amine, in the three forms of this package:
//
//	c13ccccc1.CN2C.C23=O             plain: a number that occurs in two fragments is a bond between them
//	c1<2>ccccc1.CN<1>C.C<1><2>=O     brackets: the same with <n>, and ring numbers start at 1 in each fragment
//	.c1ccccc1.C*=O.N(C)C             nested order, without numbers, for models: see [FromNested]
//
// A plain SAFE string is also a SMILES string. The bracket form is that of GenMol's second version (Lee et al.,
// arXiv:2501.06158).
//
// # Where to look
//
//   - molecule to SAFE: [Encode]
//   - SAFE to molecule, joining its fragments: [Decode]
//   - cutting a molecule into pieces and joining some of them: [Cut], [Join]; two fragments to one molecule: [Bond]
//   - nested order: [Ends], [Arrange], [FromNested]
//   - templates: [Placeholder], [RemovePlaceholders], [OpenRadicals]
//
// The files in testdata show inputs and results of each function as text.
//
// # Terms
//
//   - attachment: a number in angle brackets, <1>; the same number in two fragments is a bond
//   - open position: a number that occurs once, where something may be bonded; as an atom it is [n*]
//   - end: one side of a cut bond, or an open position, of a fragment
//   - gap: a place in nested order for new fragments
//   - placeholder: an atom that stands for a masked part of a template
package safe
