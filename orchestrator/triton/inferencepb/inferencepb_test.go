package inferencepb_test

import (
	"os"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"retort/orchestrator/triton/inferencepb"
)

// inference.binpb, which a test compares with the vendor's descriptors, must match the stubs.
func TestDescriptorsMatchStubs(t *testing.T) {
	set := &descriptorpb.FileDescriptorSet{}
	if err := proto.Unmarshal(inferencepb.Descriptors, set); err != nil {
		t.Fatal(err)
	}
	stubs := map[string]protoreflect.FileDescriptor{
		"grpc_service.proto": inferencepb.File_grpc_service_proto,
		"model_config.proto": inferencepb.File_model_config_proto,
	}
	if len(set.File) != len(stubs) {
		t.Errorf("%d files, want %d", len(set.File), len(stubs))
	}
	for _, file := range set.File {
		stub := stubs[file.GetName()]
		if stub == nil {
			t.Errorf("%s has no stubs", file.GetName())
		} else if !proto.Equal(file, protodesc.ToFileDescriptorProto(stub)) {
			t.Errorf("%s and its stubs differ: run go generate", file.GetName())
		}
		if _, err := os.Stat(file.GetName()); err != nil {
			t.Error(err)
		}
	}
}
