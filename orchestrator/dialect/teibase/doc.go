// Package teibase has the endpoints of text-embeddings-inference that each of its servers answers, whatever its model
// (https://huggingface.github.io/text-embeddings-inference):
//
//	GET  /info             the model and the limits
//	GET  /health, /ping    status 200 if the API can serve
//	POST /tokenize         {"inputs": "text" or ["text", …]} → the tokens of each text, with their places
//	POST /decode           {"ids": [1, 2] or [[1, 2], …]} → one text for each list
//
// Since text-embeddings-inference serves one model and an API here several, bodies may name a model, and so may the
// query of /info.
//
// Terms:
//   - prompt: a text that is put before an input. Its names are the modes of a model with two.
package teibase
