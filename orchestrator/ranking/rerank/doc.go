// Package rerank has the ranking endpoints of other services, beside the documented /v1/ranking:
//
//	POST /v2/rerank  Cohere (https://docs.cohere.com/reference/rerank)
//	POST /v1/rerank  Cohere v1 and Jina (https://api.jina.ai/redoc)
//	POST /rerank     text-embeddings-inference (https://huggingface.github.io/text-embeddings-inference), vLLM, Infinity
//
// All three paths take the same bodies: one with documents is answered as Cohere and Jina do, one with texts as
// text-embeddings-inference does. The path decides only the form of errors, since an unreadable body has neither.
//
// Terms:
//   - relevance score: the logistic function of the logit, 1/(1+exp(-logit)). The rankers are trained so that a logit of
//     0, a score of 0.5, lies between relevant and other passages. A score is not a probability, and scores of different
//     queries are not comparable.
//   - raw score: the logit.
package rerank
