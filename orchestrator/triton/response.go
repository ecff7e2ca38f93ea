package triton

import (
	"retort/orchestrator/fault"
	pb "retort/orchestrator/triton/inferencepb"
)

// finalResponse marks the last response to a streamed request. emptyFinal requests a response with this mark alone if
// the model ends without a last value.
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

// Output returns the output with a name. The error is Internal if it is missing.
func (r *Response) Output(name string) (Tensor, error) {
	for _, t := range r.Outputs {
		if t.Name == name {
			return t, nil
		}
	}
	return Tensor{}, fault.New(fault.Internal, "model %s answered without the output %s", r.Model, name)
}

// isFinal reports whether a response is marked as the last one.
func isFinal(m *pb.ModelInferResponse) bool {
	return m.GetParameters()[finalResponse].GetBoolParam()
}

// responseFrom converts a response from its wire form and checks its tensors.
func responseFrom(m *pb.ModelInferResponse) (*Response, error) {
	r := &Response{
		Model:   m.ModelName,
		Version: m.ModelVersion,
		ID:      m.Id,
		Outputs: make([]Tensor, 0, len(m.Outputs)),
		final:   isFinal(m),
	}
	raws := m.RawOutputContents
	for _, out := range m.Outputs {
		t, err := tensorFrom(out, &raws)
		if err == nil {
			err = t.Check()
		}
		if err != nil {
			return nil, fault.Wrap(fault.Internal, err, "model %s sent an invalid response", m.ModelName)
		}
		r.Outputs = append(r.Outputs, t)
	}
	return r, nil
}

// tensorFrom converts an output. Its elements are in Contents or, if that is nil, in the first of raws, which it
// removes. Triton sends raws; other servers of the protocol need not.
func tensorFrom(out *pb.ModelInferResponse_InferOutputTensor, raws *[][]byte) (Tensor, error) {
	t := Tensor{Name: out.Name, Datatype: Datatype(out.Datatype), Shape: out.Shape}
	if out.Contents != nil {
		t.raw = rawContents(t.Datatype, out.Contents)
		return t, nil
	}
	if len(*raws) == 0 {
		return t, fault.New(fault.Internal, "tensor %s has no elements in the response", out.Name)
	}
	t.raw = (*raws)[0]
	*raws = (*raws)[1:]
	return t, nil
}

// rawContents returns typed elements in wire form. Small integers have 32-bit fields. FP16 and BF16 have no field, so
// they are empty.
func rawContents(d Datatype, c *pb.InferTensorContents) []byte {
	switch d {
	case BOOL:
		return encode(c.BoolContents)
	case UINT8:
		return encode(narrow[uint8](c.UintContents))
	case UINT16:
		return encode(narrow[uint16](c.UintContents))
	case UINT32:
		return encode(c.UintContents)
	case UINT64:
		return encode(c.Uint64Contents)
	case INT8:
		return encode(narrow[int8](c.IntContents))
	case INT16:
		return encode(narrow[int16](c.IntContents))
	case INT32:
		return encode(c.IntContents)
	case INT64:
		return encode(c.Int64Contents)
	case FP32:
		return encode(c.Fp32Contents)
	case FP64:
		return encode(c.Fp64Contents)
	case BYTES:
		return encodeStrings(c.BytesContents)
	}
	return nil
}

func narrow[To uint8 | uint16 | int8 | int16, From uint32 | int32](values []From) []To {
	out := make([]To, len(values))
	for i, v := range values {
		out[i] = To(v)
	}
	return out
}
