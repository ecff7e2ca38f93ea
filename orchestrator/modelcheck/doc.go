// Package modelcheck checks what the APIs assume of a model, on the Triton that serves it: retort model check.
//
// [Run] opens the entry as the gateway does, and calls the model through the API's own interface. A [Report] has one
// row per property. Most rows are required; a row with the result "info" states a figure only.
//
// Terms:
//   - sample: what one row of a call has: a text, a pair of texts, or a molecule.
//   - answer: the numbers or the text that the model returns for a sample.
//   - neighbour: a hidden state plus noise; its distance is the scaled radius of the noise.
package modelcheck
