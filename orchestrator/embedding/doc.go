// Package embedding is the text embedding API: texts in, one vector per text out, in the order of the request.
//
//	POST /v1/embeddings
//	POST /embed: package tei
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// The wire format is that of the NeMo Retriever text embedding service
// (https://docs.nvidia.com/nim/nemo-retriever/text-embedding/latest/reference.html), which is OpenAI's
// (https://platform.openai.com/docs/api-reference/embeddings) with input_type and truncate. Where we knowingly differ:
// DIVERGENCES.md.
//
// Words: a model has one mode, or two, query and passage, which put a prefix of the model's own before the text. A
// vector is the pooled, L2-normalised output of the model; dimensions asks for its first numbers, normalised again
// (Matryoshka representation learning, arXiv:2205.13147, section 3).
package embedding
