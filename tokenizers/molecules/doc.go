// Package molecules turns the text of molecules into the token ids a model was trained on, and back: [SMILES] for
// SMILES, [SAFE] for SAFE strings. Both look up the tokens of a [Vocabulary], a text file with one token a line.
//
// The smallest parts that a token is made of are those of package smiles: an atom, a bond, a ring number. A vocabulary
// may hold runs of them too, such as "CC(" or a whole fragment; the two tokenizers differ in how they choose among
// runs.
//
// Everything here may be used by several goroutines at once.
package molecules
