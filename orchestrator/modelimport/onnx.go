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

// Outputs of published graphs that are states of tokens.
var tokenStates = []string{"last_hidden_state", "token_embeddings"}

// readONNX takes a graph that is there already.
func readONNX(f *folder, r *recipe, name string, o Options) (*weights, error) {
	data, err := os.ReadFile(f.path(name))
	if err != nil {
		return nil, err
	}
	if o.Precision == FP16 || o.Precision == FP32 {
		return nil, fmt.Errorf("precision %s is for weights in safetensors: the graph %s stays as it is, or becomes %s", o.Precision, name, Int8)
	}
	w := &weights{model: &onnxpb.ModelProto{}, file: name, kept: true, storage: "as in the file that was imported"}
	if err := proto.Unmarshal(data, w.model); err != nil || w.model.Graph == nil {
		return nil, fmt.Errorf("%s: no ONNX file: %w", name, cmp.Or(err, errors.New("it has no graph")))
	}
	if w.sum, err = sha256Of(f.path(name)); err != nil {
		return nil, err
	}
	for _, t := range w.model.Graph.Initializer {
		for _, fact := range t.ExternalData {
			if fact.GetKey() == "location" && !slices.Contains(w.beside, fact.GetValue()) {
				w.beside = append(w.beside, fact.GetValue())
			}
		}
	}
	for _, file := range w.beside {
		if !filepath.IsLocal(file) {
			return nil, fmt.Errorf("%s: external data in %q, which is outside the folder", name, file)
		}
	}
	if err := checkInputs(w.model.Graph); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if o.API == Ranking {
		err = checkLogits(f, w.model.Graph)
	} else {
		err = w.vectors(r)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return w, nil
}

// checkInputs wants the gateway's tensors, free in both dimensions.
func checkInputs(g *onnxpb.GraphProto) error {
	var names []string
	for _, t := range inputs(g) {
		names = append(names, t.GetName())
		if !slices.Contains([]string{inputIDs, inputMask, inputTypes}, t.GetName()) {
			return fmt.Errorf("the graph needs an input %s, which the gateway does not send", t.GetName())
		}
		if element(t) != onnxInt64 {
			return fmt.Errorf("input %s has element type %d, not %d (INT64)", t.GetName(), element(t), onnxInt64)
		}
		if d := dims(t); len(d) != 2 || d[0] >= 0 || d[1] >= 0 {
			return fmt.Errorf("input %s has shape %v: batch and tokens must be free", t.GetName(), d)
		}
	}
	for _, wanted := range []string{inputIDs, inputMask} {
		if !slices.Contains(names, wanted) {
			return fmt.Errorf("the graph has inputs %v and no %s", names, wanted)
		}
	}
	return nil
}

// checkLogits wants one logit a row.
func checkLogits(f *folder, g *onnxpb.GraphProto) error {
	t := output(g, outputLogits)
	switch {
	case t == nil:
		return fmt.Errorf("the graph has outputs %v and no %s: it is no cross-encoder", outputs(g), outputLogits)
	case element(t) != onnxFloat:
		return fmt.Errorf("output %s has element type %d, not %d (FLOAT)", outputLogits, element(t), onnxFloat)
	}
	d := dims(t)
	if len(d) != 2 || d[0] >= 0 || d[1] > 1 {
		return fmt.Errorf("output %s has shape %v: a ranker gives one logit a row", outputLogits, d)
	}
	if len(f.Labels) > 1 {
		return fmt.Errorf("config.json: id2label has %d labels: a ranker gives one logit", len(f.Labels))
	}
	return nil
}

// vectors wants a vector a row, and makes one of token states.
func (w *weights) vectors(r *recipe) error {
	g := w.model.Graph
	if t := output(g, outputVector); t != nil {
		if d := dims(t); element(t) != onnxFloat || len(d) != 2 || d[0] >= 0 {
			return fmt.Errorf("output %s has element type %d and shape %v, not %d (FLOAT) and [batch, dimensions]", outputVector, element(t), d, onnxFloat)
		}
		r.notes = append(r.notes, "the graph gives "+outputVector+" itself: pooling and normalisation are its own")
		r.pooling = cmp.Or(r.pooling, "graph")
		return nil
	}
	for _, name := range tokenStates {
		t := output(g, name)
		if t == nil {
			continue
		}
		if len(dims(t)) != 3 || (element(t) != onnxFloat && element(t) != onnxFloat16) {
			return fmt.Errorf("output %s has element type %d and shape %v, not FLOAT or FLOAT16 and [batch, tokens, hidden]", name, element(t), dims(t))
		}
		if err := r.needsPooling(); err != nil {
			return err
		}
		if version := operators(w.model); version < 8 {
			return fmt.Errorf("opset %d is too old for the pooling that is added to output %s, 8 is wanted", version, name)
		}
		states := name
		added := newGraph(g, true)
		if element(t) == onnxFloat16 {
			states = added.cast(states, onnxFloat)
		}
		added.output(added.pool(states, inputMask, r), outputVector, max(-1, dims(t)[2]))
		w.kept = false
		return nil
	}
	return fmt.Errorf("the graph has outputs %v, none of %s, %s", outputs(g), outputVector, strings.Join(tokenStates, ", "))
}

// operators is the version of ONNX's own operators.
func operators(m *onnxpb.ModelProto) int64 {
	for _, set := range m.OpsetImport {
		if set.GetDomain() == "" || set.GetDomain() == "ai.onnx" {
			return set.GetVersion()
		}
	}
	return 0
}

// inputs leaves out the constants, which old files list as inputs too.
func inputs(g *onnxpb.GraphProto) (found []*onnxpb.ValueInfoProto) {
	for _, t := range g.Input {
		if !slices.ContainsFunc(g.Initializer, func(c *onnxpb.TensorProto) bool { return c.GetName() == t.GetName() }) {
			found = append(found, t)
		}
	}
	return found
}

func outputs(g *onnxpb.GraphProto) (names []string) {
	for _, t := range g.Output {
		names = append(names, t.GetName())
	}
	return names
}

func output(g *onnxpb.GraphProto, name string) *onnxpb.ValueInfoProto {
	if i := slices.Index(outputs(g), name); i >= 0 {
		return g.Output[i]
	}
	return nil
}

func element(t *onnxpb.ValueInfoProto) int32 { return t.GetType().GetTensorType().GetElemType() }

// dims are the sizes of a tensor's dimensions, -1 where one is free.
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
