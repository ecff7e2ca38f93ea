// Package inferencepb is the wire contract of a Triton Inference Server: our
// own .proto files of the published service and the stubs made from them.
// (The vendor publishes no importable Go package of it.)
package inferencepb

import _ "embed"

//go:generate ./generate.sh

// Descriptors is the FileDescriptorSet of the two .proto files, without
// comments. scripts/tests/test_proto.py compares the same file with the
// vendor's own descriptors.
//
//go:embed inference.binpb
var Descriptors []byte
