// Package onnxpb is the part of the ONNX file format that modelimport uses:
// our own .proto of the published format and the stub made from it.
package onnxpb

import _ "embed"

//go:generate ./generate.sh

// Descriptors is the FileDescriptorSet of onnx.proto, without comments.
// scripts/tests/test_proto.py compares the same file with the descriptors of
// the PyPI package onnx.
//
//go:embed onnx.binpb
var Descriptors []byte
