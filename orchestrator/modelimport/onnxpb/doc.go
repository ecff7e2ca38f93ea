// Package onnxpb is the part of the ONNX file format that modelimport uses: a .proto of the published format, and the
// code generated from it. scripts/tests/test_proto.py compares onnx.binpb, the compiled descriptors, with those of the
// PyPI package onnx.
package onnxpb

//go:generate ./generate.sh
