// Package triton speaks to Triton Inference Servers over gRPC: tensors in, tensors out, streams, the model repository.
// It spreads calls over several servers, finds out what they serve, joins rows of many requests to batches, and knows
// no model by name.
//
// Words: a replica is one server process behind one address. A row is one element of a batch. Shapes are those of the
// wire, with the batch dimension where a model has one.
//
// The contract is the Open Inference Protocol with Triton's extensions,
// https://github.com/triton-inference-server/server/blob/main/docs/protocol; behaviour not written there was observed
// on tritonserver 2.51 and is held by the conformance suite in tritontest.
package triton
