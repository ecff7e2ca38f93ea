package modelimport

import (
	"slices"

	"retort/orchestrator/modelimport/onnxpb"
	"retort/orchestrator/triton"
)

// constants evaluates values of a graph that do not depend on its inputs: initializers, and the results of the few
// operators that decode weights stored in fewer bits.
type constants struct {
	initializers map[string]*onnxpb.TensorProto
	producers    map[string]*onnxpb.NodeProto // by output
}

// constant is a tensor of a graph, in row-major order.
type constant struct {
	shape  []int64
	values []float32
}

func newConstants(g *onnxpb.GraphProto) *constants {
	c := &constants{
		initializers: map[string]*onnxpb.TensorProto{},
		producers:    map[string]*onnxpb.NodeProto{},
	}
	for _, t := range g.Initializer {
		c.initializers[t.GetName()] = t
	}
	for _, node := range g.Node {
		for _, name := range node.Output {
			c.producers[name] = node
		}
	}
	return c
}

// maxDepth is the largest number of operators between an initializer and the weights that it stores. The limit ends
// cycles, and products of products, whose evaluation would take time that grows exponentially with their number.
const maxDepth = 8

// floats returns a value, if it is constant.
func (c *constants) floats(name string) (constant, bool) { return c.evaluate(name, maxDepth) }

// evaluate is floats for a value that at most depth nested operators compute.
func (c *constants) evaluate(name string, depth int) (constant, bool) {
	if t, ok := c.initializers[name]; ok {
		return decodeTensor(t)
	}
	node, ok := c.producers[name]
	inputs := map[string]int{"Identity": 1, "Cast": 1, "Transpose": 1, "Mul": 2}
	if !ok || depth == 0 || len(node.Input) < inputs[node.GetOpType()] {
		return constant{}, false
	}
	switch node.GetOpType() {
	case "Constant":
		if t := attribute(node, "value").GetT(); t != nil {
			return decodeTensor(t)
		}
	case "Identity":
		return c.evaluate(node.Input[0], depth-1)
	case "Cast":
		if attribute(node, "to").GetI() == onnxFloat {
			return c.evaluate(node.Input[0], depth-1)
		}
	case "Transpose":
		return c.transpose(node, depth-1)
	case "Mul":
		return c.scale(node, depth-1)
	}
	return constant{}, false
}

// transpose evaluates a Transpose of a matrix.
func (c *constants) transpose(node *onnxpb.NodeProto, depth int) (constant, bool) {
	from, ok := c.evaluate(node.Input[0], depth)
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

// scale evaluates a Mul of a matrix [rows, columns] and a scale: one number, or one per row or column.
func (c *constants) scale(node *onnxpb.NodeProto, depth int) (constant, bool) {
	matrix, ok1 := c.evaluate(node.Input[0], depth)
	factor, ok2 := c.evaluate(node.Input[1], depth)
	if !ok1 || !ok2 {
		return constant{}, false
	}
	if len(factor.values) > len(matrix.values) {
		matrix, factor = factor, matrix
	}
	if len(matrix.shape) != 2 {
		return constant{}, false
	}
	rows := matrix.shape[0]
	width := matrix.shape[1]
	product := constant{matrix.shape, make([]float32, len(matrix.values))}
	for i, v := range matrix.values {
		switch {
		case len(factor.values) == 1:
			product.values[i] = v * factor.values[0]
		case slices.Equal(factor.shape, []int64{width}) || slices.Equal(factor.shape, []int64{1, width}):
			product.values[i] = v * factor.values[int64(i)%width]
		case slices.Equal(factor.shape, []int64{rows, 1}):
			product.values[i] = v * factor.values[int64(i)/width]
		default:
			return constant{}, false
		}
	}
	return product, true
}

// attribute returns nil, whose getters return zero values, if the node has no such attribute.
func attribute(node *onnxpb.NodeProto, name string) *onnxpb.AttributeProto {
	for _, a := range node.Attribute {
		if a.GetName() == name {
			return a
		}
	}
	return nil
}

// decodeTensor returns the numbers of a tensor of a type used for weights, if they are in the model file.
func decodeTensor(t *onnxpb.TensorProto) (constant, bool) {
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
