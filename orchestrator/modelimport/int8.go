package modelimport

import (
	"fmt"
	"math"

	"retort/orchestrator/modelimport/onnxpb"
)

// Products of states with a matrix of weights, in integers of 8 bits:
//
//	x·W ≈ (x/a rounded)·(W/b rounded) · a·b
//
// with a scale a for each row of x (that is, for each token), made while the graph runs, and a scale b for each column
// of W, made here. Only standard operators are used. Since a row's scale is made of that row alone, its result does not
// depend on the rows beside it, as it does where a whole batch shares one scale (ONNX Runtime's quantize_dynamic).
//
// Weights have 7 bits of the 8: processors without VNNI add two products of 8 bits in 16 bits with saturation
// (VPMADDUBSW), and 2·255·63 is below 32,768 where 2·255·127 is not. So every processor computes the same.
const (
	mostWeight = 63
	mostState  = 127
	stateZero  = 128 // the unsigned number that stands for 0
	leastState = 1e-9
)

// leastSide is that of the smallest matrix that is worth it.
const leastSide = 16

// Further element types of ONNX.
const (
	onnxUint8 = 2
	onnxInt8  = 3
)

// Versions of the operators: from the first on they are as they are used here, and from the second on ReduceMax takes
// its axes as an input.
const (
	leastOpset = 13
	axesOpset  = 18
)

// inInt8 makes the products with constant matrices of a graph products of integers, and returns how many there were.
func inInt8(m *onnxpb.ModelProto) (products int, err error) {
	opset := operators(m)
	if opset < leastOpset {
		return 0, fmt.Errorf("opset %d is too old for products in int8, %d is wanted", opset, leastOpset)
	}
	old := m.Graph.Node
	known := newConstants(m.Graph)
	q := &quantiser{graph: newGraph(m.Graph, true), opset: opset, scaled: map[string]scaled{}}
	q.prefix = "int8"
	m.Graph.Node = nil
	for _, node := range old {
		if node.GetOpType() != "MatMul" || !q.product(node, known) {
			m.Graph.Node = append(m.Graph.Node, node)
			continue
		}
		products++
	}
	if products == 0 {
		return 0, fmt.Errorf("the graph has no product with a constant matrix of at least %d x %d", leastSide, leastSide)
	}
	prune(m.Graph)
	return products, nil
}

// quantiser writes the products. States that several matrices are multiplied with are scaled once.
type quantiser struct {
	*graph
	opset  int64
	scaled map[string]scaled
}

// scaled are the integers of states and the scale of each row.
type scaled struct{ integers, scale string }

// product replaces a product, whose output keeps its name, if its second factor is a constant matrix.
func (q *quantiser) product(node *onnxpb.NodeProto, known *constants) bool {
	matrix, ok := known.floats(node.Input[1])
	if !ok || len(matrix.shape) != 2 || min(matrix.shape[0], matrix.shape[1]) < leastSide {
		return false
	}
	weights, scales := columns(matrix)
	states := q.states(node.Input[0])
	name := fmt.Sprintf("%s_%d", q.prefix, q.count)
	q.initializer(name+"_weights", matrix.shape, onnxInt8, weights)
	scale := q.float32s(name+"_scales", scales)
	sums := q.cast(q.op("MatMulInteger", states.integers, name+"_weights", q.byte(stateZero)), onnxFloat)
	q.op("Mul", q.op("Mul", sums, states.scale), scale)
	q.Node[len(q.Node)-1].Output[0] = node.Output[0]
	return true
}

// states rounds states to integers: the largest of a row becomes 127.
func (q *quantiser) states(x string) scaled {
	if s, ok := q.scaled[x]; ok {
		return s
	}
	size := q.op("Abs", x)
	if q.opset < axesOpset {
		size = q.node("ReduceMax", []string{size}, wholes("axes", -1), whole("keepdims", 1))
	} else {
		size = q.node("ReduceMax", []string{size, q.ints(-1)}, whole("keepdims", 1))
	}
	scale := q.op("Mul", q.op("Max", size, q.float(leastState)), q.float(1.0/mostState))
	s := scaled{q.op("QuantizeLinear", q.op("Div", x, scale), q.float(1), q.byte(stateZero)), scale}
	q.scaled[x] = s
	return s
}

// columns rounds a matrix [in, out] to integers, with a scale for each column.
func columns(matrix constant) (integers []byte, scales []float32) {
	out := int(matrix.shape[1])
	scales = make([]float32, out)
	for i, v := range matrix.values {
		scales[i%out] = max(scales[i%out], float32(math.Abs(float64(v))))
	}
	for column := range scales {
		if scales[column] /= mostWeight; scales[column] == 0 {
			scales[column] = 1
		}
	}
	integers = make([]byte, len(matrix.values))
	for i, v := range matrix.values {
		integers[i] = byte(int8(math.RoundToEven(float64(v / scales[i%out]))))
	}
	return integers, scales
}

// prune takes out nodes and constants that nothing needs any more.
func prune(g *onnxpb.GraphProto) {
	needed := map[string]bool{}
	for _, t := range g.Output {
		needed[t.GetName()] = true
	}
	var kept []*onnxpb.NodeProto
	for i := len(g.Node) - 1; i >= 0; i-- {
		node := g.Node[i]
		for _, name := range node.Output {
			if needed[name] {
				kept = append(kept, node)
				need(node, needed)
				break
			}
		}
	}
	g.Node = g.Node[:0]
	for i := len(kept) - 1; i >= 0; i-- {
		g.Node = append(g.Node, kept[i])
	}
	var initializers []*onnxpb.TensorProto
	for _, t := range g.Initializer {
		if needed[t.GetName()] {
			initializers = append(initializers, t)
		}
	}
	g.Initializer = initializers
}

// need marks what a node needs, the graphs inside it too.
func need(node *onnxpb.NodeProto, needed map[string]bool) {
	for _, name := range node.Input {
		needed[name] = true
	}
	for _, a := range node.Attribute {
		for _, inner := range append(a.Graphs, a.GetG()) {
			for _, n := range inner.GetNode() {
				need(n, needed)
			}
			for _, t := range inner.GetOutput() {
				needed[t.GetName()] = true
			}
		}
	}
}
