// Package oracle implements [objective.Oracle] with models in Triton: models of the operator, with any backend, that
// score molecules. The config.pbtxt of a model has the parameter retort_api "oracle". Its public id is the name of a
// term.
//
// The input is smiles BYTES, canonical SMILES in UTF-8, or fingerprint FP32 [2048], the bits of the Morgan fingerprint
// with radius 2 and without chirality as 0 or 1. Every FP32 output with one number per molecule is an output of the
// oracle. The first is score if there is one with this name. orchestrator/ORACLES.md shows how to make an oracle.
package oracle
