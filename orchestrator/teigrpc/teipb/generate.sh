#!/bin/sh
# Makes the stubs and tei.binpb (the compiled descriptors, from which
# scripts/tests/test_tei_grpc.py makes its client) from the .proto file of
# this folder. Needs protoc (Debian: protobuf-compiler) and fetches the two
# generators through the Go module proxy.
set -eu
cd "$(dirname "$0")"
tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN=$tools go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN=$tools go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
PATH=$tools:$PATH protoc -I. \
	--go_out=. --go_opt=paths=source_relative \
	--go-grpc_out=. --go-grpc_opt=paths=source_relative \
	--descriptor_set_out=tei.binpb \
	tei.proto
