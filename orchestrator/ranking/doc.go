// Package ranking is the passage ranking API: a query and passages in, the passages' indexes with a relevance logit
// each out, in descending order.
//
//	POST /v1/ranking (also /v1/reranking)
//	POST /v2/rerank, /v1/rerank, /rerank: package rerank
//	GET  /v1/models
//	GET  /v1/health/ready, /v1/health/live
//
// The wire format is that of the NeMo Retriever reranking service
// (https://docs.nvidia.com/nim/nemo-retriever/text-reranking/latest/reference.html). Where we knowingly differ:
// DIVERGENCES.md.
//
// Words: a cross-encoder reads query and passage together (monoBERT, arXiv:1901.04085) and gives one logit for the
// pair, raw and unbounded; only the order and differences within one request mean something.
package ranking
