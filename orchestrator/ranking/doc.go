// Package ranking is the passage ranking API: a query and passages in, the passages' indexes and relevance logits out,
// in descending order of the logits.
//
//	POST /v1/ranking (also /v1/reranking)
//	POST /v2/rerank, /v1/rerank, /rerank: package rerank
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// The wire format is the NeMo Retriever reranking service's
// (https://docs.nvidia.com/nim/nemo-retriever/text-reranking/latest/reference.html). DIVERGENCES.md lists the differences.
//
// Terms:
//   - ranker: a cross-encoder, which reads query and passage together (monoBERT, arXiv:1901.04085).
//   - pair: the query and one passage.
//   - logit: the output of a ranker for a pair, unbounded, higher for better passages. Only logits of the same request
//     can be compared.
package ranking
