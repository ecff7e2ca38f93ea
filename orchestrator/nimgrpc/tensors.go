package nimgrpc

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "retort/orchestrator/triton/inferencepb"
)

// tensor is an output, in KServe's raw form.
type tensor struct {
	name     string
	datatype string
	shape    []int64
	raw      []byte
}

// readInputs returns the texts of each input.
func readInputs(r *pb.ModelInferRequest) (map[string][]string, error) {
	inputs := map[string][]string{}
	raw := r.RawInputContents
	for _, input := range r.Inputs {
		if _, exists := inputs[input.Name]; exists {
			return nil, status.Errorf(codes.InvalidArgument, "input %q is given twice", input.Name)
		}
		if input.Datatype != "BYTES" {
			return nil, status.Errorf(codes.InvalidArgument, "input %q is %s, not BYTES", input.Name, input.Datatype)
		}
		var elements [][]byte
		if input.Contents == nil && len(raw) > 0 {
			var ok bool
			if elements, ok = splitBytes(raw[0]); !ok {
				return nil, status.Errorf(codes.InvalidArgument, "input %q: raw_input_contents are no BYTES", input.Name)
			}
			raw = raw[1:]
		} else {
			elements = input.GetContents().GetBytesContents()
		}
		if !isColumn(input.Shape, len(elements)) {
			return nil, status.Errorf(codes.InvalidArgument, "input %q has %d elements and the shape %v, not [%d, 1]",
				input.Name, len(elements), input.Shape, len(elements))
		}
		texts := make([]string, len(elements))
		for i, element := range elements {
			if !utf8.Valid(element) {
				return nil, status.Errorf(codes.InvalidArgument, "input %q: element %d is not UTF-8", input.Name, i)
			}
			texts[i] = string(element)
		}
		inputs[input.Name] = texts
	}
	if len(raw) > 0 {
		return nil, status.Error(codes.InvalidArgument, "raw_input_contents has more elements than inputs without contents")
	}
	return inputs, nil
}

// isColumn reports whether a shape is [n, 1] or [n].
func isColumn(shape []int64, n int) bool {
	return slices.Equal(shape, []int64{int64(n), 1}) || slices.Equal(shape, []int64{int64(n)})
}

// splitBytes returns the elements of a raw BYTES tensor, each preceded by its length in 4 bytes.
func splitBytes(raw []byte) (elements [][]byte, ok bool) {
	for len(raw) > 0 {
		if len(raw) < 4 {
			return nil, false
		}
		length := uint64(binary.LittleEndian.Uint32(raw))
		raw = raw[4:]
		if length > uint64(len(raw)) {
			return nil, false
		}
		elements = append(elements, raw[:length])
		raw = raw[length:]
	}
	return elements, true
}

func int32s(values []int) []byte {
	var raw []byte
	for _, value := range values {
		raw = binary.LittleEndian.AppendUint32(raw, uint32(value))
	}
	return raw
}

// respond returns the outputs that a request names, or all.
func respond(r *pb.ModelInferRequest, tensors []tensor) (*pb.ModelInferResponse, error) {
	response := &pb.ModelInferResponse{ModelName: r.ModelName, ModelVersion: "1", Id: r.Id}
	add := func(t tensor) {
		described := &pb.ModelInferResponse_InferOutputTensor{Name: t.name, Datatype: t.datatype, Shape: t.shape}
		response.Outputs = append(response.Outputs, described)
		response.RawOutputContents = append(response.RawOutputContents, t.raw)
	}
	if len(r.Outputs) == 0 {
		for _, t := range tensors {
			add(t)
		}
	}
	for _, output := range r.Outputs {
		i := slices.IndexFunc(tensors, func(t tensor) bool { return t.name == output.Name })
		if i < 0 {
			return nil, status.Errorf(codes.InvalidArgument, "output %q is unknown", output.Name)
		}
		add(tensors[i])
	}
	return response, nil
}
