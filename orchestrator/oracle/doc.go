// Package oracle is the Triton form of an [objective.Oracle]: any model of the operator's, of any backend, that scores
// molecules. Its config.pbtxt has the parameter retort_api "oracle"; its public id is the name of a term.
//
// The input is smiles BYTES, canonical SMILES in UTF-8, or fingerprint FP32 [2048], the bits of the Morgan fingerprint of
// radius 2 without chirality as 0 or 1. Every FP32 output of one number a molecule is a value that a term can ask for;
// the first is score where there is one of that name. ORACLES.md beside the rooms shows how one is made.
package oracle
