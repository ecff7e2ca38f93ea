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

// RequestFrom reads a request as a server gets it. The tensors are not checked.
func RequestFrom(m *pb.ModelInferRequest) (*Request, error) {
	r := &Request{Model: m.ModelName, Version: m.ModelVersion, ID: m.Id, Parameters: parametersIn(m.Parameters)}
	raws := m.RawInputContents
	for _, in := range m.Inputs {
		t, err := tensorFrom(in.Name, in.Datatype, in.Shape, in.Contents, &raws)
		if err != nil {
			return nil, err
		}
		r.Inputs = append(r.Inputs, t)
	}
	for _, out := range m.Outputs {
		r.Outputs = append(r.Outputs, out.Name)
	}
	return r, nil
}

// Input returns the input of that name.
func (r *Request) Input(name string) (Tensor, bool) {
	for _, t := range r.Inputs {
		if t.Name == name {
			return t, true
		}
	}
	return Tensor{}, false
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

// parametersIn reads parameters into bool, int64, uint64, float64 and string.
func parametersIn(parameters map[string]*pb.InferParameter) map[string]any {
	if len(parameters) == 0 {
		return nil
	}
	in := make(map[string]any, len(parameters))
	for name, p := range parameters {
		switch v := p.GetParameterChoice().(type) {
		case *pb.InferParameter_BoolParam:
			in[name] = v.BoolParam
		case *pb.InferParameter_Int64Param:
			in[name] = v.Int64Param
		case *pb.InferParameter_Uint64Param:
			in[name] = v.Uint64Param
		case *pb.InferParameter_DoubleParam:
			in[name] = v.DoubleParam
		case *pb.InferParameter_StringParam:
			in[name] = v.StringParam
		}
	}
	return in
}
