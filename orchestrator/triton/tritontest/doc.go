// Package tritontest is a Triton Inference Server inside a test: it serves the real gRPC contract on a loopback port,
// its models are Go functions, and it can be told to fail. Conformance runs the same trials against it and against a
// real tritonserver, so that what a test sees here is what happens there: states, error codes and their words included.
package tritontest
