// Package rerank answers the ranking interfaces that most other services and clients speak, beside the documented
// /v1/ranking:
//
//	POST /v2/rerank  Cohere (https://docs.cohere.com/reference/rerank)
//	POST /v1/rerank  Cohere v1 and Jina (https://api.jina.ai/redoc)
//	POST /rerank     text-embeddings-inference (https://huggingface.github.io/text-embeddings-inference), vLLM, Infinity
//
// All three paths take the same bodies: one with documents is answered as Cohere and Jina do, one with texts as
// text-embeddings-inference does. The path decides the form of errors alone, since a body that cannot be read has no
// shape.
//
// Words: a relevance score is the logistic function of the model's logit, 1/(1+exp(-logit)). The rankers are trained so
// that a logit of 0 lies between right and wrong passages, so 0.5 does as well; it is no probability, and scores of
// different queries are not comparable. A raw score is the logit.
package rerank
