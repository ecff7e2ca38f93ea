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
//   - relevance score: the logit on the scale of the model's calibration, from 0 to 1. For a calibrated model it
//     estimates the probability that the passage is relevant (package calibration). It rises with the logit.
//   - raw score: the logit.
package rerank
