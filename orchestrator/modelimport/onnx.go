package modelimport

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
)

// stateOutputs are the names under which published graphs return token states.
var stateOutputs = []string{"last_hidden_state", "token_embeddings"}

func readProto(path string) (*onnxpb.ModelProto, error) {
	file, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(data, m); err != nil || m.Graph == nil {
		return nil, fmt.Errorf("not an ONNX file: %w", cmp.Or(err, errors.New("no graph")))
	}
	return m, nil
}

// readONNX reads the ONNX graph of a folder, and appends pooling if it returns token states to an embedding.
func readONNX(f *folder, r *recipe, name string, o Options) (*model, error) {
	if o.Precision == precisionFP16 || o.Precision == precisionFP32 {
		return nil, fmt.Errorf("precision %s is for weights in safetensors: the graph %s can only be used "+
			"as it is or in %s", o.Precision, name, precisionInt8)
	}
	m := &model{file: name, unchanged: true, storage: "as in the file that was imported"}
	var err error
	if m.proto, err = readProto(f.path(name)); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if m.sha256, err = sha256Of(f.path(name)); err != nil {
		return nil, err
	}
	if m.external, err = checkExternal(m.proto.Graph, filepath.Dir(f.path(name))); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err = checkInputs(m.proto.Graph); err == nil {
		if o.API == apiRanking {
			err = checkLogits(m.proto.Graph)
		} else {
			err = m.addPooling(r)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// checkInputs refuses a graph whose inputs are not [batch, tokens] tensors that the gateway sends.
func checkInputs(g *onnxpb.GraphProto) error {
	var names []string
	for _, t := range inputs(g) {
		names = append(names, t.GetName())
		if !slices.Contains([]string{inputIDs, inputMask, inputTypes}, t.GetName()) {
			return fmt.Errorf("the graph has an input %s, which the gateway does not send", t.GetName())
		}
		if elementType(t) != onnxInt64 {
			return fmt.Errorf("input %s has element type %d, not %d (INT64)", t.GetName(), elementType(t), onnxInt64)
		}
		if d := dims(t); len(d) != 2 || d[0] >= 0 || d[1] >= 0 {
			return fmt.Errorf("input %s has shape %v: batch and tokens must be free", t.GetName(), d)
		}
	}
	for _, want := range []string{inputIDs, inputMask} {
		if !slices.Contains(names, want) {
			return fmt.Errorf("the graph has inputs %v, but no %s", names, want)
		}
	}
	return nil
}

// checkLogits refuses a graph that does not return one logit per row.
func checkLogits(g *onnxpb.GraphProto) error {
	t := findOutput(g, outputLogits)
	switch {
	case t == nil:
		return fmt.Errorf("the graph has outputs %v, but no %s: it is not a cross-encoder",
			outputNames(g), outputLogits)
	case elementType(t) != onnxFloat:
		return fmt.Errorf("output %s has element type %d, not %d (FLOAT)", outputLogits, elementType(t), onnxFloat)
	}
	if d := dims(t); len(d) != 2 || d[0] >= 0 || d[1] > 1 {
		return fmt.Errorf("output %s has shape %v, but a ranker returns one logit per row", outputLogits, d)
	}
	return nil
}

// addPooling appends pooling to a graph that returns token states. It refuses a graph that returns neither states nor
// one vector per row.
func (m *model) addPooling(r *recipe) error {
	g := m.proto.Graph
	if t := findOutput(g, outputVector); t != nil {
		if d := dims(t); elementType(t) != onnxFloat || len(d) != 2 || d[0] >= 0 {
			return fmt.Errorf("output %s has element type %d and shape %v, not %d (FLOAT) and [batch, dimensions]",
				outputVector, elementType(t), d, onnxFloat)
		}
		if width := dims(t)[1]; len(r.dense) > 0 && width != r.width(width) {
			return fmt.Errorf("output %s has %d numbers, but the last Dense module of modules.json has out_features %d",
				outputVector, width, r.width(width))
		}
		r.notes = append(r.notes, "the graph returns "+outputVector+": it does pooling and normalization itself")
		r.pooling = cmp.Or(r.pooling, "graph")
		return nil
	}
	for _, name := range stateOutputs {
		t := findOutput(g, name)
		if t == nil {
			continue
		}
		if len(dims(t)) != 3 || (elementType(t) != onnxFloat && elementType(t) != onnxFloat16) {
			return fmt.Errorf("output %s has element type %d and shape %v, "+
				"not FLOAT or FLOAT16 and [batch, tokens, hidden]", name, elementType(t), dims(t))
		}
		if err := r.checkPooling(); err != nil {
			return err
		}
		if version := opsetVersion(m.proto); version < r.poolingOpset() {
			return fmt.Errorf("opset %d is too old to append pooling to output %s: %d is needed",
				version, name, r.poolingOpset())
		}
		states := name
		appended := newGraph(g, true)
		if elementType(t) == onnxFloat16 {
			states = appended.cast(states, onnxFloat)
		}
		appended.output(appended.pool(states, inputMask, r), outputVector, r.width(dims(t)[2]))
		m.unchanged = false
		return nil
	}
	return fmt.Errorf("the graph has outputs %v, none of %s, %s",
		outputNames(g), outputVector, strings.Join(stateOutputs, ", "))
}

// opsetVersion returns the version of ONNX's own operators.
func opsetVersion(m *onnxpb.ModelProto) int64 {
	for _, set := range m.OpsetImport {
		if set.GetDomain() == "" || set.GetDomain() == "ai.onnx" {
			return set.GetVersion()
		}
	}
	return 0
}

// inputs returns the inputs without the initializers, which old files list among them.
func inputs(g *onnxpb.GraphProto) []*onnxpb.ValueInfoProto {
	return slices.DeleteFunc(slices.Clone(g.Input), func(input *onnxpb.ValueInfoProto) bool {
		return slices.ContainsFunc(g.Initializer, func(t *onnxpb.TensorProto) bool {
			return t.GetName() == input.GetName()
		})
	})
}

func outputNames(g *onnxpb.GraphProto) (names []string) {
	for _, t := range g.Output {
		names = append(names, t.GetName())
	}
	return names
}

// findOutput returns nil if there is no such output.
func findOutput(g *onnxpb.GraphProto, name string) *onnxpb.ValueInfoProto {
	if i := slices.Index(outputNames(g), name); i >= 0 {
		return g.Output[i]
	}
	return nil
}

func elementType(t *onnxpb.ValueInfoProto) int32 { return t.GetType().GetTensorType().GetElemType() }

// dims returns the shape of a tensor, with -1 for a free dimension.
func dims(t *onnxpb.ValueInfoProto) (sizes []int) {
	for _, d := range t.GetType().GetTensorType().GetShape().GetDim() {
		if value, ok := d.Value.(*onnxpb.TensorShapeProto_Dimension_DimValue); ok {
			sizes = append(sizes, int(value.DimValue))
		} else {
			sizes = append(sizes, -1)
		}
	}
	return sizes
}
