// Package triton is a client of Triton Inference Servers over gRPC: inference, streams, model configurations and
// repository indexes. It spreads calls over replicas, retries once on another replica, and watches the health of
// replicas and models. It knows no model by name. Package batching combines rows in calls; package discovery follows
// what the replicas serve.
//
// All errors are faults (package fault) unless a function says otherwise. Shapes are those of the wire, with a batch
// dimension if the model has one.
//
// Terms:
//   - replica: one server process behind one address.
//   - row: one element of a batch.
//   - live: the replica answered its last probe, a liveness check.
//   - sick: a model that its replica reports as ready fails its inferences there (see health).
//   - model probe: an inference that the client makes up to find out whether a model is sick.
//   - decoupled: the model sends any number of responses to a request.
//   - once: an inference that must not be executed twice.
//
// The contract is the Open Inference Protocol with Triton's extensions,
// https://github.com/triton-inference-server/server/blob/main/docs/protocol. Behaviour that it does not specify was
// observed on tritonserver 2.51, and the conformance suite in tritontest checks it.
package triton
