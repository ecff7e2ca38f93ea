// Package teipb is the gRPC contract of text-embeddings-inference: its .proto file, and the stubs generated from it. No
// Go package with them is published.
package teipb

import _ "embed"

//go:generate ./generate.sh

// Descriptors is the FileDescriptorSet of the .proto file, without comments. scripts/tests/test_tei_grpc.py makes its
// client from it.
//
//go:embed tei.binpb
var Descriptors []byte
