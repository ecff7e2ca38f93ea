// Package tei is the embedding endpoint of text-embeddings-inference
// (https://huggingface.github.io/text-embeddings-inference):
//
//	POST /embed  {"inputs": "text" or ["text", …]} → one vector per text
package tei
