// Package molecules converts the text of molecules to token ids and back: [SMILES] for SMILES strings, [SAFE] for SAFE
// strings. Both use a [Vocabulary], a text file with one token per line. All types are safe for concurrent use.
//
// Terms:
//
//	part  an atom, a bond, a ring number or another token of package smiles
//	run   one or more consecutive parts; a token is a run, such as "C", "CC(" or a whole fragment
//	cut   a byte offset between two parts
package molecules
