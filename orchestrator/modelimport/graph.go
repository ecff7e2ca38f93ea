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

// graph adds nodes and constants to an ONNX graph. A value is known by its name; values and nodes are named after what
// they are made for.
type graph struct {
	*onnxpb.GraphProto
	prefix string // of the names of values
	fp32   bool   // store weights in 32 bits
	count  int
	made   map[string]string // constants by what they hold
}

func newGraph(g *onnxpb.GraphProto, fp32 bool) *graph {
	return &graph{GraphProto: g, prefix: "retort", fp32: fp32, made: map[string]string{}}
}

// node adds a node and returns its output's name.
func (g *graph) node(op string, inputs []string, attributes ...*onnxpb.AttributeProto) string {
	g.count++
	name := fmt.Sprintf("%s_%d_%s", g.prefix, g.count, op)
	g.Node = append(g.Node, &onnxpb.NodeProto{
		Name: &name, OpType: &op, Input: inputs, Output: []string{name}, Attribute: attributes,
	})
	return name
}

// op is node without attributes.
func (g *graph) op(op string, inputs ...string) string { return g.node(op, inputs) }

// cast converts a value to another element type.
func (g *graph) cast(value string, to int64) string {
	return g.node("Cast", []string{value}, whole("to", to))
}

// reshape gives a value another shape: 0 copies a dimension, -1 is what is left.
func (g *graph) reshape(value string, shape ...int64) string {
	return g.op("Reshape", value, g.ints(shape...))
}

func (g *graph) transpose(value string, order ...int64) string {
	return g.node("Transpose", []string{value}, wholes("perm", order...))
}

// gather takes rows (axis 0), or other slices, by their indices.
func (g *graph) gather(from, indices string, axis int64) string {
	return g.node("Gather", []string{from, indices}, whole("axis", axis))
}

func whole(name string, value int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_INT.Enum(), I: &value}
}

func wholes(name string, values ...int64) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_INTS.Enum(), Ints: values}
}

func real(name string, value float32) *onnxpb.AttributeProto {
	return &onnxpb.AttributeProto{Name: &name, Type: onnxpb.AttributeProto_FLOAT.Enum(), F: &value}
}

// ints is a constant of one dimension.
func (g *graph) ints(values ...int64) string {
	return g.constant(triton.Int64s("", []int64{int64(len(values))}, values), onnxInt64)
}

// index is a constant without dimensions.
func (g *graph) index(value int64) string {
	return g.constant(triton.Int64s("", []int64{}, []int64{value}), onnxInt64)
}

// float is a constant without dimensions.
func (g *graph) float(value float32) string {
	return g.constant(triton.Float32s("", []int64{}, []float32{value}), onnxFloat)
}

// byte is a constant without dimensions, unsigned and of 8 bits.
func (g *graph) byte(value byte) string {
	return g.constant(triton.Raw("", triton.UINT8, []int64{}, []byte{value}), onnxUint8)
}

// float32s adds a tensor of one dimension in 32 bits.
func (g *graph) float32s(name string, values []float32) string {
	shape := []int64{int64(len(values))}
	g.initializer(name, shape, onnxFloat, triton.Float32s(name, shape, values).Raw())
	return name
}

// constant adds a small tensor once.
func (g *graph) constant(t triton.Tensor, element int32) string {
	key := fmt.Sprint(element, t.Shape, t.Raw())
	if name, ok := g.made[key]; ok {
		return name
	}
	name := fmt.Sprintf("%s_constant_%d", g.prefix, len(g.made)+1)
	g.made[key] = name
	g.initializer(name, t.Shape, element, t.Raw())
	return name
}

func (g *graph) initializer(name string, shape []int64, element int32, raw []byte) {
	g.Initializer = append(g.Initializer, &onnxpb.TensorProto{Name: &name, Dims: shape, DataType: &element, RawData: raw})
}

// mostHalf is the largest number that 16 bits hold.
const mostHalf = 65504

// weight adds a tensor of weights, stored in 16 bits unless that would make numbers of it infinite, and returns its
// name and whether it needs a cast.
func (g *graph) weight(name string, shape []int64, values []float32) (stored string, half bool) {
	half = !g.fp32
	for _, v := range values {
		half = half && math.Abs(float64(v)) <= mostHalf
	}
	if half {
		g.initializer(name, shape, onnxFloat16, triton.Halves(triton.FP16, name, shape, values).Raw())
	} else {
		g.initializer(name, shape, onnxFloat, triton.Float32s(name, shape, values).Raw())
	}
	return name, half
}

// input declares an input of [batch, tokens] ids.
func (g *graph) input(name string) string {
	g.Input = append(g.Input, described(name, onnxInt64, "batch", "tokens"))
	return name
}

// output gives a value the name of an output, of [batch, width] numbers.
func (g *graph) output(value, name string, width int) {
	g.Node = append(g.Node, &onnxpb.NodeProto{
		Name: proto.String(name), OpType: proto.String("Identity"), Input: []string{value}, Output: []string{name},
	})
	g.Output = append(g.Output, described(name, onnxFloat, "batch", int64(width)))
}

// described is a tensor with dimensions of a size or a name.
func described(name string, element int32, dims ...any) *onnxpb.ValueInfoProto {
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
