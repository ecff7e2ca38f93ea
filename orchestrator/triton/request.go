package triton

import (
	"fmt"

	"retort/orchestrator/fault"
	pb "retort/orchestrator/triton/inferencepb"
)

// Request is one inference.
type Request struct {
	Model string
	// Version is a version's number; empty is the one the model's policy picks.
	Version string
	// ID is echoed in the response and named in Triton's own log.
	ID     string
	Inputs []Tensor
	// Outputs are the names wanted; none means all.
	Outputs []string
	// Parameters are bool, int, int64 or string, and for newer servers uint64 and float64. Some have a meaning to
	// Triton: "priority" (uint64 with any server) and "timeout" (microseconds in the queue, int64).
	Parameters map[string]any
	// Once forbids a second try on another replica, and probes of the model: set it when an inference has an effect that
	// must not happen twice.
	Once bool
}

// Message returns the request in wire form, checked.
func (r *Request) Message() (*pb.ModelInferRequest, error) {
	parameters, err := parametersOut(r.Parameters)
	if err != nil {
		return nil, err
	}
	m := &pb.ModelInferRequest{
		ModelName: r.Model, ModelVersion: r.Version, Id: r.ID, Parameters: parameters,
		Inputs:           make([]*pb.ModelInferRequest_InferInputTensor, len(r.Inputs)),
		RawInputContents: make([][]byte, len(r.Inputs)),
	}
	for i, t := range r.Inputs {
		if err := t.Check(); err != nil {
			return nil, err
		}
		m.Inputs[i] = &pb.ModelInferRequest_InferInputTensor{Name: t.Name, Datatype: string(t.Datatype), Shape: t.Shape}
		m.RawInputContents[i] = t.raw
	}
	for _, name := range r.Outputs {
		m.Outputs = append(m.Outputs, &pb.ModelInferRequest_InferRequestedOutputTensor{Name: name})
	}
	return m, nil
}

// parametersOut writes parameters as the protocol has them.
func parametersOut(parameters map[string]any) (map[string]*pb.InferParameter, error) {
	if len(parameters) == 0 {
		return nil, nil
	}
	out := make(map[string]*pb.InferParameter, len(parameters))
	for name, value := range parameters {
		p := &pb.InferParameter{}
		switch v := value.(type) {
		case bool:
			p.ParameterChoice = &pb.InferParameter_BoolParam{BoolParam: v}
		case int:
			p.ParameterChoice = &pb.InferParameter_Int64Param{Int64Param: int64(v)}
		case int64:
			p.ParameterChoice = &pb.InferParameter_Int64Param{Int64Param: v}
		case uint64:
			p.ParameterChoice = &pb.InferParameter_Uint64Param{Uint64Param: v}
		case float64:
			p.ParameterChoice = &pb.InferParameter_DoubleParam{DoubleParam: v}
		case string:
			p.ParameterChoice = &pb.InferParameter_StringParam{StringParam: v}
		default:
			return nil, fault.New(fault.Internal, "parameter %s: no wire form for %s", name, fmt.Sprintf("%T", value))
		}
		out[name] = p
	}
	return out, nil
}
