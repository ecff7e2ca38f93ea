// Package rerank has the ranking endpoints of other services, beside the documented /v1/ranking:
//
//	POST /v2/rerank  Cohere (https://docs.cohere.com/reference/rerank)
//	POST /v1/rerank  Cohere v1 and Jina (https://api.jina.ai/redoc)
//	POST /rerank     text-embeddings-inference (https://huggingface.github.io/text-embeddings-inference), vLLM, Infinity
//	POST /predict    text-embeddings-inference
//
// The first three paths take the same bodies. The answer to documents has the form of Cohere and Jina, the answer to
// texts the form of text-embeddings-inference. An error has the form of the path, since an unreadable body has neither.
//
// Terms:
//   - candidate: a document or a text, which a ranker reads as a passage.
//   - relevance score: the logistic function of the logit, 1/(1+exp(-logit)). The rankers are trained so that a logit
//     of 0, a score of 0.5, lies between relevant and other passages. A score is not a probability, and scores of
//     different queries are not comparable.
//   - raw score: the logit.
package rerank
