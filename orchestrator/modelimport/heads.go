package modelimport

import (
	"cmp"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
)

// Tensors of the entries, see model_repository/README.md. orchestrator/encoder, embedding and ranking use the same.
const (
	inputIDs     = "input_ids"
	inputMask    = "attention_mask"
	inputTypes   = "token_type_ids"
	outputVector = "sentence_embedding"
	outputLogits = "logits"
)

// The opset of graphs that are built here, and the version of the file format that came with it.
const (
	opset     = 17
	irVersion = 8
)

// buildGraph builds the graph of a model with weights in safetensors.
func buildGraph(f *folder, r *recipe, tensors *safetensors, o Options) (*onnxpb.ModelProto, error) {
	if err := f.checkNetwork(); err != nil {
		return nil, err
	}
	prefix, err := encoderPrefix(tensors, f.family().wordTable)
	if err != nil {
		return nil, err
	}
	g := newGraph(&onnxpb.GraphProto{Name: proto.String(f.ModelType)}, o.Precision == precisionFP32)
	n := &network{
		graph: g, folder: f, family: f.family().variantOf(tensors), source: tensors, prefix: prefix,
		read: map[string]bool{}, hasLongRows: r.maxLength > longRow && !f.family().relativeBias,
	}
	n.ids = n.input(inputIDs)
	n.mask = n.input(inputMask)
	if o.API == apiRanking {
		if n.family.decoder == nil {
			if err := checkClassifier(tensors, f.Architectures); err != nil {
				return nil, err
			}
		}
		n.output(n.family.classify(n, n.states()), outputLogits, 1)
	} else {
		if err := r.checkPooling(); err != nil {
			return nil, err
		}
		n.output(n.pool(n.states(), n.mask, r), outputVector, r.width(f.HiddenSize))
	}
	if err := cmp.Or(n.err, n.checkUnread()); err != nil {
		return nil, err
	}
	return newModelProto(n.GraphProto), nil
}

func newModelProto(g *onnxpb.GraphProto) *onnxpb.ModelProto {
	return &onnxpb.ModelProto{
		IrVersion:    proto.Int64(irVersion),
		ProducerName: proto.String("retort model import"),
		OpsetImport:  []*onnxpb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(opset)}},
		Graph:        g,
	}
}

// encoderPrefix returns the prefix of the names of the encoder's tensors.
func encoderPrefix(s *safetensors, wordTable string) (string, error) {
	var prefixes []string
	for name := range s.tensors {
		if prefix, ok := strings.CutSuffix(name, wordTable); ok {
			prefixes = append(prefixes, prefix)
		}
	}
	if len(prefixes) != 1 {
		return "", fmt.Errorf("the weights have %d tensors with a name that ends in %s, not one",
			len(prefixes), wordTable)
	}
	return prefixes[0], nil
}

// checkClassifier refuses weights without a classifier of one label.
func checkClassifier(s *safetensors, architectures []string) error {
	for _, name := range []string{"classifier.weight", "classifier.out_proj.weight"} {
		t, ok := s.tensors[name]
		if !ok {
			continue
		}
		if len(t.Shape) == 2 && t.Shape[0] != 1 {
			return fmt.Errorf("%s: tensor %s has %d labels, but a ranker returns one logit", t.name, name, t.Shape[0])
		}
		return nil
	}
	return fmt.Errorf("the weights have no classifier.weight and no classifier.out_proj.weight: "+
		"%v is not a cross-encoder", architectures)
}

// firstState returns the state of the first token.
func (n *network) firstState(states string) string { return n.gather(states, n.int64Scalar(0), 1) }

// classifier is the head of a cross-encoder: a dense layer with an activation, and a projection to the logit.
func (n *network) classifier(first, dense, activation, projection string) string {
	size := n.folder.HiddenSize
	return n.linear(n.op(activation, n.linear(first, dense, size, size)), projection, size, 1)
}
