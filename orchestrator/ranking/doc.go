// Package ranking is the passage ranking API: a query and passages in, the indexes of the passages with a relevance
// logit each out, in descending order.
//
//	POST /v1/ranking (also /v1/reranking)
//	POST /v2/rerank, /v1/rerank, /rerank: package rerank
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// The wire format is that of the NeMo Retriever reranking service
// (https://docs.nvidia.com/nim/nemo-retriever/text-reranking/latest/reference.html). DIVERGENCES.md lists the differences.
//
// Terms:
//   - ranker: a cross-encoder, which reads query and passage together (monoBERT, arXiv:1901.04085).
//   - logit: the output of a ranker for a pair, unbounded. Only the order and differences within one request have a
//     meaning.
package ranking
