// Package nimgrpc is the gRPC interface of NVIDIA's NeMo Retriever services for embedding and ranking
// (https://docs.nvidia.com/nim/nemo-retriever/embedding/2.4/reference-grpc.html,
// https://docs.nvidia.com/nim/nemo-retriever/text-reranking/1.7.0/reference-grpc.html): KServe's inference protocol,
// version 2, with texts as inputs. Each ModelInfer becomes a request to the gateway of the API, with the same bounds,
// permits, deadline, log line and metrics as a request over HTTP.
//
//	embedding inputs   text BYTES [n, 1]; optional: modality BYTES [n, 1]
//	          outputs  token_count INT32 [n], embeddings FP32 [n, width]
//	ranking   inputs   query BYTES [1, 1], or [n, 1] with equal elements; passage BYTES [n, 1]
//	          outputs  index INT32 [n], logit FP32 [n], token_count INT32 [n], by descending logit
//
// The parameters of an embedding are input_type, truncate, dimensions and embedding_type. The last one chooses the type
// of the embeddings: INT8 for int8 and binary, UINT8 for uint8 and ubinary. Ranking has the parameter truncate. Values
// may be in lower or upper case.
//
// Terms:
//   - gRPC name: the id of a model in lower case, with _ for all but letters and digits.
package nimgrpc
