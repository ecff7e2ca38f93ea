// Package smiles reads the text of SMILES (https://www.daylight.com/dayhtml/doc/theory/theory.smiles.html, with RDKit's
// extensions) and of SAFE, which is written with the same tokens. It is the one lexer of this repository: [Tokens]
// splits a text, and everything else here is made of it. It knows no chemistry and needs no C++; whether a text is a
// molecule, RDKit decides in package chem.
package smiles
