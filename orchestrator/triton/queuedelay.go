package triton

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"

	pb "retort/orchestrator/triton/inferencepb"
)

// SetQueueDelay sets the maximum queue delay of a model on this replica and reports whether it has changed. A model
// without dynamic batching stays as it is. SetQueueDelay reloads the model with a configuration override; the old one
// serves until the new one is ready. The error is gRPC's, for the log.
func (r *Replica) SetQueueDelay(ctx context.Context, model string, delay time.Duration) (changed bool, err error) {
	answer, err := r.service.ModelConfig(ctx, &pb.ModelConfigRequest{Name: model})
	if err != nil {
		return false, nil // The model is gone, or a later check succeeds.
	}
	override, err := overrideDelay(answer.GetConfig(), delay)
	if err != nil || override == "" {
		return false, err
	}
	_, err = r.service.RepositoryModelLoad(ctx, &pb.RepositoryModelLoadRequest{
		ModelName: model,
		Parameters: map[string]*pb.ModelRepositoryParameter{
			"config": {ParameterChoice: &pb.ModelRepositoryParameter_StringParam{StringParam: override}},
		},
	})
	return err == nil, err
}

// overrideDelay returns the configuration with the delay as JSON, or "" if nothing needs to change. It fails if the
// configuration has fields that this program does not know, since the JSON would lack them.
func overrideDelay(config *pb.ModelConfig, delay time.Duration) (string, error) {
	microseconds := uint64(delay.Microseconds())
	if config.GetDynamicBatching() == nil || config.GetDynamicBatching().MaxQueueDelayMicroseconds == microseconds {
		return "", nil
	}
	err := protorange.Range(config.ProtoReflect(), func(p protopath.Values) error {
		if m, ok := p.Index(-1).Value.Interface().(protoreflect.Message); ok && len(m.GetUnknown()) > 0 {
			return fmt.Errorf("the configuration has unknown fields (%s)", p.Path)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	override := proto.Clone(config).(*pb.ModelConfig)
	override.GetDynamicBatching().MaxQueueDelayMicroseconds = microseconds
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(override)
	return string(text), err
}
