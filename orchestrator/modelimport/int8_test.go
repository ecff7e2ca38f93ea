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

// productModel returns the model y = x·W. weights adds W, stored in some form, and returns its name.
func productModel(weights func(*graph) string) *onnxpb.ModelProto {
	outputs := []*onnxpb.ValueInfoProto{tensorInfo("y", onnxFloat, "rows", int64(16))}
	g := newGraph(&onnxpb.GraphProto{Output: outputs}, true)
	w := weights(g)
	g.op("MatMul", "x", w)
	g.Node[len(g.Node)-1].Output = []string{"y"}
	return &onnxpb.ModelProto{
		Graph:       g.GraphProto,
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}},
	}
}

// matrix returns W, [32, 16].
func matrix() []float32 {
	values := make([]float32, 32*16)
	for i := range values {
		values[i] = float32(math.Sin(float64(i)))
	}
	return values
}

// Whatever form W is stored in, the product becomes a product of integers, and the stored form is removed.
func TestQuantizeProducts(t *testing.T) {
	shape := []int64{32, 16}
	for name, weights := range map[string]func(*graph) string{
		"in 32 bits": func(g *graph) string {
			return g.float32s("w", shape, matrix())
		},
		"as a list of numbers": func(g *graph) string {
			g.Initializer = append(g.Initializer, &onnxpb.TensorProto{
				Name: proto.String("w"), Dims: shape, DataType: proto.Int32(onnxFloat), FloatData: matrix(),
			})
			return "w"
		},
		"in 16 bits": func(g *graph) string {
			return g.cast(g.float16s("w", shape, matrix()), onnxFloat)
		},
		"as a node": func(g *graph) string {
			return g.node("Constant", nil, &onnxpb.AttributeProto{
				Name: proto.String("value"),
				Type: onnxpb.AttributeProto_TENSOR.Enum(),
				T: &onnxpb.TensorProto{
					Dims: shape, DataType: proto.Int32(onnxFloat), RawData: triton.Float32s("w", shape, matrix()).Raw(),
				},
			})
		},
		"transposed": func(g *graph) string {
			transposed := make([]float32, 32*16)
			for i, v := range matrix() {
				transposed[i%16*32+i/16] = v
			}
			return g.transpose(g.float32s("w", []int64{16, 32}, transposed), 1, 0)
		},
		"in 8 bits with scales": func(g *graph) string {
			integers, scales := quantizeColumns(constant{shape, matrix()})
			g.initializer("w", shape, onnxInt8, integers)
			return g.op("Mul", g.cast("w", onnxFloat), g.float32s("scales", shape[1:], scales))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := productModel(weights)
			if products, err := quantizeProducts(m); err != nil || products != 1 {
				t.Fatal(products, err)
			}
			var ops []string
			for _, node := range m.Graph.Node {
				ops = append(ops, node.GetOpType())
			}
			want := []string{
				"Abs", "ReduceMax", "Max", "Mul", "Div", "QuantizeLinear", "MatMulInteger", "Cast", "Mul", "Mul",
			}
			if !slices.Equal(ops, want) {
				t.Errorf("operators %v, want %v", ops, want)
			}
			known := newConstants(m.Graph)
			if _, ok := known.initializers["w"]; ok {
				t.Error("the graph still has the weights as they were stored")
			}
			integers, _ := known.floats("int8_6_weights")
			scales, _ := known.floats("int8_6_scales")
			for i, v := range matrix() {
				integer := integers.values[i]
				got := integer * scales.values[i%16]
				if math.Abs(float64(got-v)) > 0.009 || math.Abs(float64(integer)) > maxWeight {
					t.Fatalf("weight %d is %v (integer %v), want %v", i, got, integer, v)
				}
			}
		})
	}
}

func TestQuantizeProductsRefuses(t *testing.T) {
	small := productModel(func(g *graph) string {
		return g.float32s("w", []int64{8, 8}, make([]float32, 64))
	})
	old := productModel(func(*graph) string { return "x" })
	old.OpsetImport[0].Version = proto.Int64(12)
	external := productModel(func(g *graph) string {
		g.Initializer = append(g.Initializer, &onnxpb.TensorProto{
			Name: proto.String("w"), Dims: []int64{32, 16}, DataType: proto.Int32(onnxFloat),
			DataLocation: onnxpb.TensorProto_EXTERNAL.Enum(),
		})
		return "w"
	})
	for name, c := range map[string]struct {
		model *onnxpb.ModelProto
		want  string
	}{
		"no constants":  {productModel(func(*graph) string { return "x" }), "no product"},
		"small matrix":  {small, "no product"},
		"external data": {external, "no product"},
		"old opset":     {old, "opset 12"},
	} {
		if _, err := quantizeProducts(c.model); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
	}
}

// From opset 18 on, ReduceMax takes its axes as an input.
func TestQuantizeProductsOfOpset18(t *testing.T) {
	m := productModel(func(g *graph) string { return g.float32s("w", []int64{32, 16}, matrix()) })
	m.OpsetImport[0].Version = proto.Int64(18)
	if _, err := quantizeProducts(m); err != nil {
		t.Fatal(err)
	}
	for _, node := range m.Graph.Node {
		if node.GetOpType() == "ReduceMax" && len(node.Input) != 2 {
			t.Errorf("ReduceMax has inputs %v, want 2", node.Input)
		}
	}
}

// An initializer that only a graph inside a node uses is not removed.
func TestPruneKeepsInitializersOfInnerGraphs(t *testing.T) {
	m := productModel(func(g *graph) string { return g.float32s("w", []int64{32, 16}, matrix()) })
	m.Graph.Initializer = append(m.Graph.Initializer, &onnxpb.TensorProto{
		Name: proto.String("inner"), DataType: proto.Int32(onnxFloat), FloatData: []float32{1},
	})
	body := &onnxpb.GraphProto{
		Node: []*onnxpb.NodeProto{
			{OpType: proto.String("Identity"), Input: []string{"inner"}, Output: []string{"same"}},
		},
		Output: []*onnxpb.ValueInfoProto{tensorInfo("same", onnxFloat)},
	}
	m.Graph.Node = append(m.Graph.Node, &onnxpb.NodeProto{
		OpType: proto.String("If"), Input: []string{"y"}, Output: []string{"z"},
		Attribute: []*onnxpb.AttributeProto{
			{Name: proto.String("then_branch"), Type: onnxpb.AttributeProto_GRAPH.Enum(), G: body},
		},
	})
	m.Graph.Output = []*onnxpb.ValueInfoProto{tensorInfo("z", onnxFloat)}
	if _, err := quantizeProducts(m); err != nil {
		t.Fatal(err)
	}
	if _, ok := newConstants(m.Graph).initializers["inner"]; !ok {
		t.Error("the initializer of the inner graph was removed")
	}
}

// The precision fp16 or fp32 does not apply to an ONNX graph.
func TestPrecisionOfONNXGraph(t *testing.T) {
	f := newTiny(apiEmbedding)
	dir := f.write(t)
	result, err := importTiny(t, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFile(result.Dir+"/1/model.onnx", dir+"/model.onnx"); err != nil {
		t.Fatal(err)
	}
	_, err = importTiny(t, dir, Options{Weights: "onnx", Precision: precisionFP16})
	if err == nil || !strings.Contains(err.Error(), "precision fp16") {
		t.Errorf("error %v, want %q in it", err, "precision fp16")
	}
}
