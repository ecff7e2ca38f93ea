package modelimport

import (
	"math"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
	"retort/orchestrator/triton"
)

// multiplied is a graph y = x·W; weights adds W to it in some form of storage and returns its name.
func multiplied(weights func(*graph) string) *onnxpb.ModelProto {
	g := newGraph(&onnxpb.GraphProto{Output: []*onnxpb.ValueInfoProto{described("y", onnxFloat, "rows", int64(16))}}, true)
	w := weights(g)
	g.op("MatMul", "x", w)
	g.Node[len(g.Node)-1].Output = []string{"y"}
	return &onnxpb.ModelProto{Graph: g.GraphProto, OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}}}
}

// matrix is W, [32, 16].
func matrix() []float32 {
	values := make([]float32, 32*16)
	for i := range values {
		values[i] = float32(math.Sin(float64(i)))
	}
	return values
}

// However the weights are stored, the product becomes one of integers, and what stored them is gone.
func TestProductsInInt8(t *testing.T) {
	shape := []int64{32, 16}
	for name, weights := range map[string]func(*graph) string{
		"in 32 bits": func(g *graph) string {
			g.initializer("w", shape, onnxFloat, triton.Float32s("w", shape, matrix()).Raw())
			return "w"
		},
		"as a list of numbers": func(g *graph) string {
			g.Initializer = append(g.Initializer, &onnxpb.TensorProto{Name: proto.String("w"), Dims: shape, DataType: proto.Int32(onnxFloat), FloatData: matrix()})
			return "w"
		},
		"in 16 bits": func(g *graph) string {
			g.initializer("w", shape, onnxFloat16, triton.Halves(triton.FP16, "w", shape, matrix()).Raw())
			return g.cast("w", onnxFloat)
		},
		"as a node": func(g *graph) string {
			tensor := &onnxpb.TensorProto{Dims: shape, DataType: proto.Int32(onnxFloat), RawData: triton.Float32s("w", shape, matrix()).Raw()}
			return g.node("Constant", nil, &onnxpb.AttributeProto{Name: proto.String("value"), Type: onnxpb.AttributeProto_TENSOR.Enum(), T: tensor})
		},
		"turned": func(g *graph) string {
			turned := make([]float32, 32*16)
			for i, v := range matrix() {
				turned[i%16*32+i/16] = v
			}
			g.initializer("w", []int64{16, 32}, onnxFloat, triton.Float32s("w", []int64{16, 32}, turned).Raw())
			return g.transpose("w", 1, 0)
		},
		"in 8 bits with scales": func(g *graph) string {
			integers, scales := columns(constant{shape, matrix()})
			g.initializer("w", shape, onnxInt8, integers)
			return g.op("Mul", g.cast("w", onnxFloat), g.float32s("scales", scales))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := multiplied(weights)
			if products, err := inInt8(m); err != nil || products != 1 {
				t.Fatal(products, err)
			}
			var ops []string
			for _, node := range m.Graph.Node {
				ops = append(ops, node.GetOpType())
			}
			want := []string{"Abs", "ReduceMax", "Max", "Mul", "Div", "QuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul"}
			if !slices.Equal(ops, want) {
				t.Errorf("operators %v", ops)
			}
			known := newConstants(m.Graph)
			if _, left := known.stored["w"]; left {
				t.Error("the weights are there twice")
			}
			integers, _ := known.floats("int8_6_weights")
			scales, _ := known.floats("int8_6_scales")
			for i, v := range matrix() {
				if got := integers.values[i] * scales.values[i%16]; math.Abs(float64(got-v)) > 0.009 || math.Abs(float64(integers.values[i])) > mostWeight {
					t.Fatalf("weight %d is %v of %v, want %v", i, got, integers.values[i], v)
				}
			}
		})
	}
}

func TestNoProductsInInt8(t *testing.T) {
	small := multiplied(func(g *graph) string {
		g.initializer("w", []int64{8, 8}, onnxFloat, triton.Float32s("w", []int64{8, 8}, make([]float32, 64)).Raw())
		return "w"
	})
	old := multiplied(func(*graph) string { return "x" })
	old.OpsetImport[0].Version = proto.Int64(12)
	outside := multiplied(func(g *graph) string {
		g.Initializer = append(g.Initializer, &onnxpb.TensorProto{
			Name: proto.String("w"), Dims: []int64{32, 16}, DataType: proto.Int32(onnxFloat), DataLocation: onnxpb.TensorProto_EXTERNAL.Enum(),
		})
		return "w"
	})
	for name, c := range map[string]struct {
		model *onnxpb.ModelProto
		want  string
	}{
		"no constants":   {multiplied(func(*graph) string { return "x" }), "no product"},
		"small matrix":   {small, "no product"},
		"file of weight": {outside, "no product"},
		"old operators":  {old, "opset 12"},
	} {
		if _, err := inInt8(c.model); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// From version 18 on ReduceMax takes its axes as an input.
func TestProductsInInt8OfNewOperators(t *testing.T) {
	m := multiplied(func(g *graph) string { return g.constant(triton.Float32s("", []int64{32, 16}, matrix()), onnxFloat) })
	m.OpsetImport[0].Version = proto.Int64(18)
	if _, err := inInt8(m); err != nil {
		t.Fatal(err)
	}
	for _, node := range m.Graph.Node {
		if node.GetOpType() == "ReduceMax" && len(node.Input) != 2 {
			t.Errorf("%v", node)
		}
	}
}

// Constants that only a graph inside a node uses stay.
func TestInnerGraphsKeepTheirConstants(t *testing.T) {
	m := multiplied(func(g *graph) string { return g.constant(triton.Float32s("", []int64{32, 16}, matrix()), onnxFloat) })
	m.Graph.Initializer = append(m.Graph.Initializer, &onnxpb.TensorProto{Name: proto.String("inner"), DataType: proto.Int32(onnxFloat), FloatData: []float32{1}})
	body := &onnxpb.GraphProto{
		Node:   []*onnxpb.NodeProto{{OpType: proto.String("Identity"), Input: []string{"inner"}, Output: []string{"same"}}},
		Output: []*onnxpb.ValueInfoProto{described("same", onnxFloat)},
	}
	m.Graph.Node = append(m.Graph.Node, &onnxpb.NodeProto{
		OpType: proto.String("If"), Input: []string{"y"}, Output: []string{"z"},
		Attribute: []*onnxpb.AttributeProto{{Name: proto.String("then_branch"), Type: onnxpb.AttributeProto_GRAPH.Enum(), G: body}},
	})
	m.Graph.Output = []*onnxpb.ValueInfoProto{described("z", onnxFloat)}
	if _, err := inInt8(m); err != nil {
		t.Fatal(err)
	}
	if _, kept := newConstants(m.Graph).stored["inner"]; !kept {
		t.Error("the constant of the inner graph is gone")
	}
}

// A graph that is there already has its precision.
func TestPrecisionOfAGraph(t *testing.T) {
	f := newTiny(Embedding)
	dir := f.write(t)
	made, err := importTiny(t, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFile(made.Dir+"/1/model.onnx", dir+"/model.onnx"); err != nil {
		t.Fatal(err)
	}
	if _, err := importTiny(t, dir, Options{Weights: "onnx", Precision: FP16}); err == nil || !strings.Contains(err.Error(), "precision fp16") {
		t.Error(err)
	}
}
