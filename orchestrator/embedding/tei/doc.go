// Package tei answers embedding requests as text-embeddings-inference does
// (https://huggingface.github.io/text-embeddings-inference), beside the documented interface:
//
//	POST /embed  {"inputs": "text" or ["text", …]} → one vector per text
package tei
