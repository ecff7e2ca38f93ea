#!/bin/sh
# Generates onnx.pb.go and onnx.binpb from onnx.proto. onnx.binpb has the compiled descriptors, which
# scripts/tests/test_proto.py compares with those of the PyPI package onnx. Needs protoc (Debian: protobuf-compiler), and
# fetches the generator through the Go module proxy.
set -eu
cd "$(dirname "$0")"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN=$tools go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PATH=$tools:$PATH protoc -I. --go_out=. --go_opt=paths=source_relative --descriptor_set_out=onnx.binpb onnx.proto
