package modelimport

import (
	"slices"

	"retort/orchestrator/modelimport/onnxpb"
	"retort/orchestrator/triton"
)

// constants finds what of a graph is known before it runs: stored weights, and what is made of them by the few
// operators with which weights are stored in fewer bits.
type constants struct {
	stored map[string]*onnxpb.TensorProto
	makers map[string]*onnxpb.NodeProto
}

// constant is a tensor of a graph, in row-major order.
type constant struct {
	shape  []int64
	values []float32
}

func newConstants(g *onnxpb.GraphProto) *constants {
	c := &constants{stored: map[string]*onnxpb.TensorProto{}, makers: map[string]*onnxpb.NodeProto{}}
	for _, t := range g.Initializer {
		c.stored[t.GetName()] = t
	}
	for _, node := range g.Node {
		for _, name := range node.Output {
			c.makers[name] = node
		}
	}
	return c
}

// floats returns a value's numbers, if they are known.
func (c *constants) floats(name string) (constant, bool) {
	if t, ok := c.stored[name]; ok {
		return numbers(t)
	}
	node, ok := c.makers[name]
	if !ok {
		return constant{}, false
	}
	switch node.GetOpType() {
	case "Constant":
		for _, a := range node.Attribute {
			if a.GetName() == "value" && a.T != nil {
				return numbers(a.T)
			}
		}
	case "Identity":
		return c.floats(node.Input[0])
	case "Cast":
		if attribute(node, "to").GetI() == onnxFloat {
			return c.floats(node.Input[0])
		}
	case "Transpose":
		return c.transposed(node)
	case "Mul":
		return c.scaled(node)
	}
	return constant{}, false
}

// transposed turns a matrix.
func (c *constants) transposed(node *onnxpb.NodeProto) (constant, bool) {
	from, ok := c.floats(node.Input[0])
	order := attribute(node, "perm").GetInts()
	if !ok || len(from.shape) != 2 || (order != nil && !slices.Equal(order, []int64{1, 0})) {
		return constant{}, false
	}
	rows := int(from.shape[0])
	width := int(from.shape[1])
	to := constant{[]int64{from.shape[1], from.shape[0]}, make([]float32, len(from.values))}
	for i, v := range from.values {
		to.values[i%width*rows+i/width] = v
	}
	return to, true
}

// scaled is a matrix times a number, or a number for each row or each column.
func (c *constants) scaled(node *onnxpb.NodeProto) (constant, bool) {
	a, ok := c.floats(node.Input[0])
	b, also := c.floats(node.Input[1])
	if !ok || !also {
		return constant{}, false
	}
	if len(b.values) > len(a.values) {
		a, b = b, a
	}
	if len(a.shape) != 2 {
		return constant{}, false
	}
	rows := a.shape[0]
	width := a.shape[1]
	made := constant{a.shape, make([]float32, len(a.values))}
	for i, v := range a.values {
		switch {
		case len(b.values) == 1:
			made.values[i] = v * b.values[0]
		case slices.Equal(b.shape, []int64{width}) || slices.Equal(b.shape, []int64{1, width}):
			made.values[i] = v * b.values[int64(i)%width]
		case slices.Equal(b.shape, []int64{rows, 1}):
			made.values[i] = v * b.values[int64(i)/width]
		default:
			return constant{}, false
		}
	}
	return made, true
}

func attribute(node *onnxpb.NodeProto, name string) *onnxpb.AttributeProto {
	for _, a := range node.Attribute {
		if a.GetName() == name {
			return a
		}
	}
	return nil
}

// numbers returns the numbers of a stored tensor of a type that weights have. Those in a file of their own are not known.
func numbers(t *onnxpb.TensorProto) (constant, bool) {
	c := constant{shape: t.Dims}
	elements := triton.Tensor{Shape: t.Dims}.Elements()
	if t.GetDataType() == onnxFloat && len(t.FloatData) == elements && elements > 0 {
		c.values = t.FloatData
		return c, true
	}
	if t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL || t.RawData == nil {
		return c, false
	}
	if t.GetDataType() == onnxInt8 && len(t.RawData) == elements {
		c.values = make([]float32, elements)
		for i, b := range t.RawData {
			c.values[i] = float32(int8(b))
		}
		return c, true
	}
	datatype, ok := map[int32]triton.Datatype{onnxFloat: triton.FP32, onnxFloat16: triton.FP16}[t.GetDataType()]
	if !ok {
		return c, false
	}
	stored := triton.Raw("weights", datatype, t.Dims, t.RawData)
	if stored.Check() != nil {
		return c, false
	}
	var err error
	c.values, err = stored.Floats()
	return c, err == nil
}
