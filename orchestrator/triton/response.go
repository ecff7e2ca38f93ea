package triton

import (
	"retort/orchestrator/fault"
	pb "retort/orchestrator/triton/inferencepb"
)

// finalResponse marks the last response to a streamed request, and emptyFinal asks for a response that holds nothing
// but this mark, which a model that ends without a last value would otherwise leave out.
const (
	finalResponse = "triton_final_response"
	emptyFinal    = "triton_enable_empty_final_response"
)

// Response is one answer to a request.
type Response struct {
	Model, Version, ID string
	Outputs            []Tensor

	final bool // marked as the last response to its request
}

// Output returns the output of that name, or Internal when it is missing: the model is not the one we think it is.
func (r *Response) Output(name string) (Tensor, error) {
	for _, t := range r.Outputs {
		if t.Name == name {
			return t, nil
		}
	}
	return Tensor{}, fault.New(fault.Internal, "model %s answered without the tensor %s", r.Model, name)
}

// isFinal reports whether a response is marked as the last one to its request.
func isFinal(m *pb.ModelInferResponse) bool {
	return m.GetParameters()[finalResponse].GetBoolParam()
}

// responseFrom reads a response and checks its tensors.
func responseFrom(m *pb.ModelInferResponse) (*Response, error) {
	r := &Response{
		Model: m.ModelName, Version: m.ModelVersion, ID: m.Id,
		Outputs: make([]Tensor, 0, len(m.Outputs)), final: isFinal(m),
	}
	raws := m.RawOutputContents
	for _, out := range m.Outputs {
		t, err := tensorFrom(out.Name, out.Datatype, out.Shape, out.Contents, &raws)
		if err == nil {
			err = t.Check()
		}
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, "model %s answered what cannot be read", m.ModelName)
		}
		r.Outputs = append(r.Outputs, t)
	}
	return r, nil
}

// tensorFrom reads a tensor whose elements are either in contents or in the next of the raws. Triton answers raw; other
// servers of the protocol need not.
func tensorFrom(name, datatype string, shape []int64, contents *pb.InferTensorContents, raws *[][]byte) (Tensor, error) {
	t := Tensor{Name: name, Datatype: Datatype(datatype), Shape: shape}
	if contents != nil {
		t.raw = rawContents(t.Datatype, contents)
		return t, nil
	}
	if len(*raws) == 0 {
		return t, fault.New(fault.Internal, "tensor %s came without its elements", name)
	}
	t.raw, *raws = (*raws)[0], (*raws)[1:]
	return t, nil
}

// rawContents writes typed elements in wire form. Small integers travel in 32-bit fields; FP16 and BF16 have no field
// at all and come out empty.
func rawContents(d Datatype, c *pb.InferTensorContents) []byte {
	switch d {
	case BOOL:
		return encode(c.BoolContents)
	case UINT8:
		return encode(narrowed[uint8](c.UintContents))
	case UINT16:
		return encode(narrowed[uint16](c.UintContents))
	case UINT32:
		return encode(c.UintContents)
	case UINT64:
		return encode(c.Uint64Contents)
	case INT8:
		return encode(narrowed[int8](c.IntContents))
	case INT16:
		return encode(narrowed[int16](c.IntContents))
	case INT32:
		return encode(c.IntContents)
	case INT64:
		return encode(c.Int64Contents)
	case FP32:
		return encode(c.Fp32Contents)
	case FP64:
		return encode(c.Fp64Contents)
	case BYTES:
		return joined(c.BytesContents)
	}
	return nil
}

func narrowed[To uint8 | uint16 | int8 | int16, From uint32 | int32](values []From) []To {
	out := make([]To, len(values))
	for i, v := range values {
		out[i] = To(v)
	}
	return out
}
