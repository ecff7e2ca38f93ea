package modelimport

import (
	"fmt"
	"math"
	"slices"

	"retort/orchestrator/modelimport/onnxpb"
)

// Products of states and weight matrices in integers of 8 bits:
//
//	x·W ≈ round(x/a)·round(W/b) · a·b
//
// with a scale a per row of x (that is, per token), computed at run time, and a scale b per column of W, computed here.
// All operators are standard. Since a row has its own scale, its result does not depend on the other rows of the batch,
// as it does if all rows share one scale (ONNX Runtime's quantize_dynamic).
//
// Weights use 7 of the 8 bits: processors without VNNI add two products of 8 bits in 16 bits with saturation
// (VPMADDUBSW), and 2·255·63 is below 32,768 while 2·255·127 is not. So all processors compute the same.
const (
	maxWeight = 63
	maxState  = 127
	zeroState = 128  // the unsigned number for 0
	minScale  = 1e-9 // of the largest number of a row; avoids a division by 0
)

// minMatrixSide is the least number of rows and columns for which integers pay off.
const minMatrixSide = 16

// More element types of ONNX.
const (
	onnxUint8 = 2
	onnxInt8  = 3
)

const (
	minOpset  = 13 // the first with all operators as used here
	axesOpset = 18 // ReduceMax takes its axes as an input from here on
)

// quantizeProducts replaces the products with constant matrices of a graph by products of integers. It returns how many
// it replaced, at least 1.
func quantizeProducts(m *onnxpb.ModelProto) (products int, err error) {
	version := opsetVersion(m)
	if version < minOpset {
		return 0, fmt.Errorf("opset %d is too old for products in int8: %d is needed", version, minOpset)
	}
	nodes := m.Graph.Node
	known := newConstants(m.Graph)
	q := &quantizer{graph: newGraph(m.Graph, true), opset: version, quantized: map[string]quantized{}}
	q.prefix = "int8"
	m.Graph.Node = nil
	for _, node := range nodes {
		if node.GetOpType() == "MatMul" && q.replaceProduct(node, known) {
			products++
		} else {
			m.Graph.Node = append(m.Graph.Node, node)
		}
	}
	if products == 0 {
		return 0, fmt.Errorf("the graph has no product with a constant matrix of at least %d x %d",
			minMatrixSide, minMatrixSide)
	}
	prune(m.Graph)
	return products, nil
}

// quantizer builds the products. It quantizes states once, even if several matrices use them.
type quantizer struct {
	*graph
	opset     int64
	quantized map[string]quantized // by the name of the states
}

// quantized are states as integers, with a scale per row.
type quantized struct{ integers, scale string }

// replaceProduct builds the integer product for a node, and gives it the name of the node's output. It returns false if
// the second factor is not a constant matrix, or too small.
func (q *quantizer) replaceProduct(node *onnxpb.NodeProto, known *constants) bool {
	if len(node.Input) != 2 || len(node.Output) != 1 {
		return false
	}
	matrix, ok := known.floats(node.Input[1])
	if !ok || len(matrix.shape) != 2 || min(matrix.shape[0], matrix.shape[1]) < minMatrixSide {
		return false
	}
	weights, scales := quantizeColumns(matrix)
	states := q.quantizeStates(node.Input[0])
	name := fmt.Sprintf("%s_%d", q.prefix, q.count)
	q.initializer(name+"_weights", matrix.shape, onnxInt8, weights)
	scale := q.float32s(name+"_scales", matrix.shape[1:], scales)
	sums := q.cast(q.op("MatMulInteger", states.integers, name+"_weights", q.uint8Scalar(zeroState)), onnxFloat)
	q.op("Mul", q.op("Mul", sums, states.scale), scale)
	q.Node[len(q.Node)-1].Output[0] = node.Output[0]
	return true
}

// quantizeStates rounds states to integers. The number of a row with the largest magnitude becomes ±127.
func (q *quantizer) quantizeStates(x string) quantized {
	if s, ok := q.quantized[x]; ok {
		return s
	}
	size := q.op("Abs", x)
	if q.opset < axesOpset {
		size = q.node("ReduceMax", []string{size}, intsAttribute("axes", -1), intAttribute("keepdims", 1))
	} else {
		size = q.node("ReduceMax", []string{size, q.int64Vector(-1)}, intAttribute("keepdims", 1))
	}
	scale := q.op("Mul", q.op("Max", size, q.float32Scalar(minScale)), q.float32Scalar(1.0/maxState))
	s := quantized{q.op("QuantizeLinear", q.op("Div", x, scale), q.float32Scalar(1), q.uint8Scalar(zeroState)), scale}
	q.quantized[x] = s
	return s
}

// quantizeColumns rounds a matrix [in, out] to integers, with a scale per column.
func quantizeColumns(matrix constant) (integers []byte, scales []float32) {
	out := int(matrix.shape[1])
	scales = make([]float32, out)
	for i, v := range matrix.values {
		scales[i%out] = max(scales[i%out], float32(math.Abs(float64(v))))
	}
	for column := range scales {
		if scales[column] /= maxWeight; scales[column] == 0 {
			scales[column] = 1
		}
	}
	integers = make([]byte, len(matrix.values))
	for i, v := range matrix.values {
		integers[i] = byte(int8(math.RoundToEven(float64(v / scales[i%out]))))
	}
	return integers, scales
}

// prune removes nodes and initializers that no output depends on.
func prune(g *onnxpb.GraphProto) {
	needed := map[string]bool{}
	for _, t := range g.Output {
		needed[t.GetName()] = true
	}
	isNeeded := func(name string) bool { return needed[name] }
	var nodes []*onnxpb.NodeProto
	for _, node := range slices.Backward(g.Node) {
		if slices.ContainsFunc(node.Output, isNeeded) {
			nodes = append(nodes, node)
			markInputs(node, needed)
		}
	}
	slices.Reverse(nodes)
	g.Node = nodes
	g.Initializer = slices.DeleteFunc(g.Initializer, func(t *onnxpb.TensorProto) bool { return !needed[t.GetName()] })
}

// markInputs marks what a node and the graphs inside it need.
func markInputs(node *onnxpb.NodeProto, needed map[string]bool) {
	for _, name := range node.Input {
		needed[name] = true
	}
	for _, a := range node.Attribute {
		for _, inner := range append(a.Graphs, a.GetG()) {
			for _, n := range inner.GetNode() {
				markInputs(n, needed)
			}
			for _, t := range inner.GetOutput() {
				needed[t.GetName()] = true
			}
		}
	}
}
