// Package tei has the embedding endpoints of text-embeddings-inference
// (https://huggingface.github.io/text-embeddings-inference):
//
//	POST /embed, /    {"inputs": "text" or ["text", …]} → one vector per text
//	POST /similarity  {"inputs": {"source_sentence": "text", "sentences": ["text", …]}} → one cosine per sentence
//	POST /embed_all, /embed_sparse → refused: the models here have neither token vectors nor sparse ones
//
// Package teibase has the endpoints that ranking has, too: /info, /health, /ping, /tokenize, /decode.
package tei
