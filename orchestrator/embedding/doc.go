// Package embedding is the text embedding API: texts in, one vector per text out, in the order of the request.
//
//	POST /v1/embeddings
//	POST /embed: package tei
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// The wire format is the NeMo Retriever text embedding service's
// (https://docs.nvidia.com/nim/nemo-retriever/text-embedding/latest/reference.html): OpenAI's
// (https://platform.openai.com/docs/api-reference/embeddings) with input_type and truncate. DIVERGENCES.md lists the
// differences.
//
// Terms:
//   - mode: query or passage. A model with two modes puts the prefix of the mode before a text; other models have one
//     mode without a name.
//   - vector: the pooled, L2-normalized output of the model.
//   - dimensions: the length of a vector. A shorter vector has the first numbers, normalized again (Matryoshka
//     representation learning, arXiv:2205.13147, section 3).
//   - lenient request: one whose mode need not fit the model. A model with one mode ignores the mode, and one with two
//     has a default mode.
package embedding
