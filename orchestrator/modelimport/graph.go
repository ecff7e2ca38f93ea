package modelimport

import (
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
	"retort/orchestrator/triton"
)

// Element types of ONNX (TensorProto.DataType).
const (
	onnxFloat   = 1
	onnxInt64   = 7
	onnxBool    = 9
	onnxFloat16 = 10
)

// graph adds nodes and constants to an ONNX graph. Its methods take and return the names of values. Equal constants are
// added once.
type graph struct {
	*onnxpb.GraphProto                    // to which nodes are added
	root               *onnxpb.GraphProto // to which constants are added
	prefix             string             // of the names of values
	fp32               bool               // store weights in 32 bits
	count              int                // of nodes
	constants          map[string]string  // name by element type, shape and content
}

func newGraph(g *onnxpb.GraphProto, fp32 bool) *graph {
	return &graph{GraphProto: g, root: g, prefix: "retort", fp32: fp32, constants: map[string]string{}}
}

// node adds a node and returns the name of its output.
func (g *graph) node(op string, inputs []string, attributes ...*onnxpb.AttributeProto) string {
	g.count++
	name := g.nodeName(op)
	g.Node = append(g.Node, &onnxpb.NodeProto{
		Name: &name, OpType: &op, Input: inputs, Output: []string{name}, Attribute: attributes,
	})
	return name
}

// nodeName returns the name of the newest node.
func (g *graph) nodeName(op string) string { return fmt.Sprintf("%s_%d_%s", g.prefix, g.count, op) }

// op is node without attributes.
func (g *graph) op(op string, inputs ...string) string { return g.node(op, inputs) }

// cast converts a value to another element type.
func (g *graph) cast(value string, to int64) string {
	return g.node("Cast", []string{value}, intAttribute("to", to))
}

// reshape changes the shape of a value: 0 copies a dimension, -1 takes the remaining elements.
func (g *graph) reshape(value string, shape ...int64) string {
	return g.op("Reshape", value, g.int64Vector(shape...))
}

func (g *graph) transpose(value string, order ...int64) string {
	return g.node("Transpose", []string{value}, intsAttribute("perm", order...))
}

// gather selects slices along an axis.
func (g *graph) gather(from, indices string, axis int64) string {
	return g.node("Gather", []string{from, indices}, intAttribute("axis", axis))
}

func intAttribute(name string, value int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_INT.Enum(), I: &value}
}

func intsAttribute(name string, values ...int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_INTS.Enum(), Ints: values}
}

func floatAttribute(name string, value float32) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_FLOAT.Enum(), F: &value}
}

func (g *graph) int64Vector(values ...int64) string {
	return g.constant(triton.Int64s("", []int64{int64(len(values))}, values), onnxInt64)
}

func (g *graph) int64Scalar(value int64) string {
	return g.constant(triton.Int64s("", []int64{}, []int64{value}), onnxInt64)
}

func (g *graph) boolScalar(value bool) string {
	raw := []byte{0}
	if value {
		raw[0] = 1
	}
	return g.constant(triton.Raw("", triton.BOOL, []int64{}, raw), onnxBool)
}

func (g *graph) float32Scalar(value float32) string {
	return g.constant(triton.Float32s("", []int64{}, []float32{value}), onnxFloat)
}

func (g *graph) float32Vector(values []float32) string {
	return g.constant(triton.Float32s("", []int64{int64(len(values))}, values), onnxFloat)
}

func (g *graph) uint8Scalar(value byte) string {
	return g.constant(triton.Raw("", triton.UINT8, []int64{}, []byte{value}), onnxUint8)
}

// float32s adds a tensor in 32 bits and returns its name.
func (g *graph) float32s(name string, shape []int64, values []float32) string {
	g.initializer(name, shape, onnxFloat, triton.Float32s(name, shape, values).Raw())
	return name
}

// float16s adds a tensor in 16 bits and returns its name.
func (g *graph) float16s(name string, shape []int64, values []float32) string {
	g.initializer(name, shape, onnxFloat16, triton.Halves(triton.FP16, name, shape, values).Raw())
	return name
}

// constant adds a small tensor, unless the graph has an equal one.
func (g *graph) constant(t triton.Tensor, element int32) string {
	key := fmt.Sprint(element, t.Shape, t.Raw())
	if name, ok := g.constants[key]; ok {
		return name
	}
	name := fmt.Sprintf("%s_constant_%d", g.prefix, len(g.constants)+1)
	g.constants[key] = name
	g.initializer(name, t.Shape, element, t.Raw())
	return name
}

func (g *graph) initializer(name string, shape []int64, element int32, raw []byte) {
	t := &onnxpb.TensorProto{Name: &name, Dims: shape, DataType: &element, RawData: raw}
	g.root.Initializer = append(g.root.Initializer, t)
}

// maxFloat16 is the largest finite number in 16 bits.
const maxFloat16 = 65504

// weight adds weights, in 16 bits unless a number would become infinite or the graph stores 32 bits.
func (g *graph) weight(name string, shape []int64, values []float32) (stored string, half bool) {
	half = !g.fp32
	for _, v := range values {
		half = half && math.Abs(float64(v)) <= maxFloat16
	}
	if half {
		return g.float16s(name, shape, values), true
	}
	return g.float32s(name, shape, values), false
}

// wideWeight adds weights and returns them in 32 bits. The cast is in the root graph, so that a loop does not repeat
// it.
func (g *graph) wideWeight(name string, shape []int64, values []float32) string {
	inner := g.GraphProto
	defer func() { g.GraphProto = inner }()
	g.GraphProto = g.root
	return g.widen(g.weight(name, shape, values))
}

// widen casts a value in 16 bits to 32.
func (g *graph) widen(value string, half bool) string {
	if half {
		return g.cast(value, onnxFloat)
	}
	return value
}

// input declares an input [batch, tokens] and returns its name.
func (g *graph) input(name string) string {
	g.Input = append(g.Input, tensorInfo(name, onnxInt64, "batch", "tokens"))
	return name
}

// output declares an output [batch, width] with a value.
func (g *graph) output(value, name string, width int) {
	g.Node = append(g.Node, &onnxpb.NodeProto{
		Name: proto.String(name), OpType: proto.String("Identity"), Input: []string{value}, Output: []string{name},
	})
	g.Output = append(g.Output, tensorInfo(name, onnxFloat, "batch", int64(width)))
}

// tensorInfo describes a tensor. A dimension is a size (int64) or a name (string).
func tensorInfo(name string, element int32, dims ...any) *onnxpb.ValueInfoProto {
	shape := &onnxpb.TensorShapeProto{}
	for _, dim := range dims {
		d := &onnxpb.TensorShapeProto_Dimension{}
		switch dim := dim.(type) {
		case int64:
			d.Value = &onnxpb.TensorShapeProto_Dimension_DimValue{DimValue: dim}
		case string:
			d.Value = &onnxpb.TensorShapeProto_Dimension_DimParam{DimParam: dim}
		}
		shape.Dim = append(shape.Dim, d)
	}
	return &onnxpb.ValueInfoProto{Name: &name, Type: &onnxpb.TypeProto{Value: &onnxpb.TypeProto_TensorType{
		TensorType: &onnxpb.TypeProto_Tensor{ElemType: &element, Shape: shape},
	}}}
}
