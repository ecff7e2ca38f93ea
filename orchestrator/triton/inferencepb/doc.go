// Package inferencepb is the wire contract of a Triton Inference Server: .proto files of the published service, and the
// stubs generated from them. The vendor publishes no Go package with them.
package inferencepb

import _ "embed"

//go:generate ./generate.sh

// Descriptors is the FileDescriptorSet of the two .proto files, without comments. scripts/tests/test_proto.py compares
// it with the vendor's descriptors.
//
//go:embed inference.binpb
var Descriptors []byte
