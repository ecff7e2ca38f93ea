package triton

import (
	"retort/orchestrator/fault"
	pb "retort/orchestrator/triton/inferencepb"
)

// Request is one inference.
type Request struct {
	Model string
	// Version is a version's number. If it is empty, the model's version policy decides.
	Version string
	// ID is echoed in the response and appears in Triton's log.
	ID     string
	Inputs []Tensor
	// Outputs are the names of the requested outputs; none means all.
	Outputs []string
	// Parameters have values of bool, int, int64 or string; newer servers also accept uint64 and float64. Triton itself
	// reads "priority" (uint64 on any server) and "timeout" (upper bound on the time in the queue, int64 microseconds).
	Parameters map[string]any
	// Once disables the retry on another replica and probes of the model. Set it if an inference must not be executed
	// twice.
	Once bool
}

// rows returns the first dimension of the first input, 1 if it has none.
func (r *Request) rows() int {
	if len(r.Inputs) == 0 || len(r.Inputs[0].Shape) == 0 {
		return 1
	}
	return int(r.Inputs[0].Shape[0])
}

// Message checks the request and converts it to its wire form.
func (r *Request) Message() (*pb.ModelInferRequest, error) {
	parameters, err := parametersTo(r.Parameters)
	if err != nil {
		return nil, err
	}
	m := &pb.ModelInferRequest{
		ModelName:        r.Model,
		ModelVersion:     r.Version,
		Id:               r.ID,
		Parameters:       parameters,
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

// parametersTo converts parameters to their wire form.
func parametersTo(parameters map[string]any) (map[string]*pb.InferParameter, error) {
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
			return nil, fault.New(fault.Internal, "parameter %s has the unsupported type %T", name, value)
		}
		out[name] = p
	}
	return out, nil
}
