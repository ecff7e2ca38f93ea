package triton

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "retort/orchestrator/triton/inferencepb"
)

// Live reports whether any replica answered its last probe. It asks nothing.
func (c *Client) Live() bool { return len(c.pool.live()) > 0 }

// ServerReady reports what one replica says of itself. With Triton's strict
// readiness, which is its default, that is false while any model is being
// loaded or unloaded and after a failed load: for people and for start-up, not
// for routing. ModelReady is what a request needs.
func (c *Client) ServerReady(ctx context.Context) (ready bool, err error) {
	err = c.call(ctx, "server_ready", "", true, func(ctx context.Context, s pb.GRPCInferenceServiceClient) error {
		answer, err := s.ServerReady(ctx, &pb.ServerReadyRequest{})
		ready = answer.GetReady()
		return err
	})
	return ready, err
}

// ModelReady reports whether some version of a model, or the one given, takes
// requests. A model that does not exist is not ready, and no error.
func (c *Client) ModelReady(ctx context.Context, name, version string) (ready bool, err error) {
	err = c.call(ctx, "model_ready", name, true, func(ctx context.Context, s pb.GRPCInferenceServiceClient) error {
		answer, err := s.ModelReady(ctx, &pb.ModelReadyRequest{Name: name, Version: version})
		if ready = answer.GetReady(); status.Code(err) == codes.NotFound {
			return nil
		}
		return err
	})
	return ready, err
}

// ServerInfo is what a server says of itself.
type ServerInfo struct {
	Name, Version string
	Extensions    []string
}

// ServerMetadata returns it for one replica.
func (c *Client) ServerMetadata(ctx context.Context) (info ServerInfo, err error) {
	err = c.call(ctx, "server_metadata", "", true, func(ctx context.Context, s pb.GRPCInferenceServiceClient) error {
		m, err := s.ServerMetadata(ctx, &pb.ServerMetadataRequest{})
		info = ServerInfo{Name: m.GetName(), Version: m.GetVersion(), Extensions: m.GetExtensions()}
		return err
	})
	return info, err
}

// TensorInfo is a tensor as a model declares it. In ModelInfo its shape is
// that of the wire, with a batch dimension of -1 where the model has one; in
// ModelConfig it leaves the batch dimension out. -1 is any size.
type TensorInfo struct {
	Name     string
	Datatype Datatype
	Shape    []int64
	// Optional and Ragged are known from ModelConfig only: the input may be
	// left out; rows of one batch may differ in shape.
	Optional, Ragged bool
}

// ModelInfo is what a model says of itself.
type ModelInfo struct {
	Name, Platform string
	// Versions are those that are loaded.
	Versions        []string
	Inputs, Outputs []TensorInfo
}

// ModelMetadata returns it for a version, or for the one the policy picks.
func (c *Client) ModelMetadata(ctx context.Context, name, version string) (info ModelInfo, err error) {
	err = c.call(ctx, "model_metadata", name, true, func(ctx context.Context, s pb.GRPCInferenceServiceClient) error {
		m, err := s.ModelMetadata(ctx, &pb.ModelMetadataRequest{Name: name, Version: version})
		info = modelInfo(m)
		return err
	})
	return info, err
}

func modelInfo(m *pb.ModelMetadataResponse) ModelInfo {
	return ModelInfo{
		Name: m.GetName(), Platform: m.GetPlatform(), Versions: m.GetVersions(),
		Inputs: tensorInfos(m.GetInputs()), Outputs: tensorInfos(m.GetOutputs()),
	}
}

func tensorInfos(tensors []*pb.ModelMetadataResponse_TensorMetadata) []TensorInfo {
	var infos []TensorInfo
	for _, t := range tensors {
		infos = append(infos, TensorInfo{Name: t.Name, Datatype: Datatype(t.Datatype), Shape: t.Shape})
	}
	return infos
}
