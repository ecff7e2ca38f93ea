package tritontest

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
)

// Input returns the input with a name.
func Input(r *triton.Request, name string) (triton.Tensor, bool) {
	for _, t := range r.Inputs {
		if t.Name == name {
			return t, true
		}
	}
	return triton.Tensor{}, false
}

// Texts returns the elements of a BYTES tensor as strings.
func Texts(t triton.Tensor) ([]string, error) {
	values, err := t.Bytes()
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = string(v)
	}
	return texts, err
}

// requestFrom converts a request of triton.Client from its wire form. It does not check the tensors.
func requestFrom(m *pb.ModelInferRequest) *triton.Request {
	r := &triton.Request{
		Model:      m.ModelName,
		Version:    m.ModelVersion,
		ID:         m.Id,
		Parameters: parametersFrom(m.Parameters),
	}
	for i, in := range m.Inputs {
		r.Inputs = append(r.Inputs, triton.Raw(in.Name, triton.Datatype(in.Datatype), in.Shape, m.RawInputContents[i]))
	}
	for _, out := range m.Outputs {
		r.Outputs = append(r.Outputs, out.Name)
	}
	return r
}

// parametersFrom converts parameters to bool, int64, uint64, float64 and string.
func parametersFrom(wire map[string]*pb.InferParameter) map[string]any {
	if len(wire) == 0 {
		return nil
	}
	parameters := make(map[string]any, len(wire))
	for name, p := range wire {
		switch v := p.GetParameterChoice().(type) {
		case *pb.InferParameter_BoolParam:
			parameters[name] = v.BoolParam
		case *pb.InferParameter_Int64Param:
			parameters[name] = v.Int64Param
		case *pb.InferParameter_Uint64Param:
			parameters[name] = v.Uint64Param
		case *pb.InferParameter_DoubleParam:
			parameters[name] = v.DoubleParam
		case *pb.InferParameter_StringParam:
			parameters[name] = v.StringParam
		}
	}
	return parameters
}

// Message converts a response to its wire form. Its tensors must be valid.
func Message(r *triton.Response) (*pb.ModelInferResponse, error) {
	m := &pb.ModelInferResponse{ModelName: r.Model, ModelVersion: r.Version, Id: r.ID}
	for _, t := range r.Outputs {
		if err := t.Check(); err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		m.Outputs = append(m.Outputs, &pb.ModelInferResponse_InferOutputTensor{
			Name: t.Name, Datatype: string(t.Datatype), Shape: t.Shape,
		})
		m.RawOutputContents = append(m.RawOutputContents, t.Raw())
	}
	return m, nil
}
