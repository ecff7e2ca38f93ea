package triton

import (
	"context"

	pb "retort/orchestrator/triton/inferencepb"
)

// TensorInfo is a tensor as a model declares it. In ModelInfo its shape is that of the wire, with a batch dimension of
// -1 where the model has one; in ModelConfig it leaves the batch dimension out. -1 is any size.
type TensorInfo struct {
	Name     string
	Datatype Datatype
	Shape    []int64
	// Optional and Ragged are known from ModelConfig only: the input may be left out; rows of one batch may differ in
	// shape.
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
	err = c.ask(ctx, question{name: "model_metadata", model: name, steady: true}, func(ctx context.Context, r *Replica) error {
		m, err := r.service.ModelMetadata(ctx, &pb.ModelMetadataRequest{Name: name, Version: version})
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
