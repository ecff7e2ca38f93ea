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

// SetQueueDelay gives a model that batches dynamically a maximum queue delay on this replica: it loads the model again
// with its configuration and that delay (a configuration override; files stay as they are). The loaded model serves
// until the new one is ready. It reports whether the delay changed. The error is gRPC's own, for the log.
func (r *Replica) SetQueueDelay(ctx context.Context, model string, delay time.Duration) (changed bool, err error) {
	answer, err := r.service.ModelConfig(ctx, &pb.ModelConfigRequest{Name: model})
	if err != nil {
		return false, nil // The model is gone, or its configuration will be asked for again.
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

// overrideDelay returns the configuration with the delay as JSON, or "" if nothing needs to change. A configuration with
// fields that this program does not know is an error: writing it again would lose them.
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
	changed := proto.Clone(config).(*pb.ModelConfig)
	changed.GetDynamicBatching().MaxQueueDelayMicroseconds = microseconds
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(changed)
	return string(text), err
}
