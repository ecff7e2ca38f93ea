package modelimport

import (
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
)

// The tensors of the entries' contract, as orchestrator/encoder, embedding and ranking know them:
// model_repository/README.md.
const (
	inputIDs     = "input_ids"
	inputMask    = "attention_mask"
	inputTypes   = "token_type_ids"
	outputVector = "sentence_embedding"
	outputLogits = "logits"
)

// Version of the operators, and of the file format that came with them.
const (
	opset     = 17
	irVersion = 8
)

func decimal(i int) string { return strconv.Itoa(i) }

// build writes the whole graph of weights in safetensors.
func build(f *folder, r *recipe, source *safetensors, o Options) (*onnxpb.ModelProto, error) {
	family, err := f.family()
	if err != nil {
		return nil, err
	}
	if err := f.encoder(); err != nil {
		return nil, err
	}
	prefix, err := encoderPrefix(source)
	if err != nil {
		return nil, err
	}
	g := newGraph(&onnxpb.GraphProto{Name: proto.String(f.ModelType)}, o.Precision == FP32)
	n := &network{graph: g, folder: f, source: source, prefix: prefix}
	n.ids = n.input(inputIDs)
	n.mask = n.input(inputMask)
	if o.API == Ranking {
		if err := f.oneLabel(source); err != nil {
			return nil, err
		}
		n.output(n.classify(n.states(), family), outputLogits, 1)
	} else {
		if err := r.needsPooling(); err != nil {
			return nil, err
		}
		n.output(n.pool(n.states(), n.mask, r), outputVector, f.HiddenSize)
	}
	if n.err != nil {
		return nil, n.err
	}
	return &onnxpb.ModelProto{
		IrVersion: proto.Int64(irVersion), ProducerName: proto.String("retort model import"),
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Domain: proto.String(""), Version: proto.Int64(opset)}},
		Graph:       n.GraphProto,
	}, nil
}

// encoderPrefix finds what stands before the names of the encoder's tensors.
func encoderPrefix(s *safetensors) (string, error) {
	const first = "embeddings.word_embeddings.weight"
	var found []string
	for name := range s.tensors {
		if prefix, ok := strings.CutSuffix(name, first); ok {
			found = append(found, prefix)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("the weights have %d tensors that end in %s, not one", len(found), first)
	}
	return found[0], nil
}

func (r *recipe) needsPooling() error {
	switch r.pooling {
	case "mean", "cls":
		return nil
	case "":
		return fmt.Errorf("the folder has no modules.json that says how token states become a vector: give --pooling mean or cls")
	}
	return fmt.Errorf("pooling %q is not known, only mean or cls", r.pooling)
}

// pool makes one vector of token states [batch, tokens, hidden]. Only operators whose form never changed are used, so
// it can go behind any graph.
func (g *graph) pool(states, mask string, r *recipe) string {
	var vector string // [batch, 1, hidden]
	if r.pooling == "cls" {
		vector = g.gather(states, g.ints(0), 1)
	} else {
		row := g.cast(g.reshape(mask, 0, 1, -1), onnxFloat)
		tokens := g.op("MatMul", row, g.reshape(row, 0, -1, 1)) // 1·1 summed: how many there are
		vector = g.op("Div", g.op("MatMul", row, states), tokens)
	}
	if r.normalize {
		square := g.op("MatMul", vector, g.reshape(vector, 0, -1, 1))
		vector = g.op("Div", vector, g.op("Max", g.op("Sqrt", square), g.float(1e-12)))
	}
	return g.reshape(vector, 0, -1)
}

// oneLabel refuses what gives no single number.
func (f *folder) oneLabel(s *safetensors) error {
	if len(f.Labels) > 1 {
		return fmt.Errorf("config.json: id2label has %d labels: a ranker gives one logit", len(f.Labels))
	}
	for _, name := range []string{"classifier.weight", "classifier.out_proj.weight"} {
		t, ok := s.tensors[name]
		if !ok {
			continue
		}
		if len(t.Shape) == 2 && t.Shape[0] != 1 {
			return fmt.Errorf("%s: tensor %s has %d labels: a ranker gives one logit", t.name, name, t.Shape[0])
		}
		return nil
	}
	return fmt.Errorf("the weights have no classifier.weight and no classifier.out_proj.weight: %v is no cross-encoder", f.Architectures)
}

// classify is the head of a cross-encoder over the first token's state: BERT's pooler and classifier, or RoBERTa's
// dense layer and projection.
func (n *network) classify(states, family string) string {
	size := n.folder.HiddenSize
	dense, last := "classifier.dense", "classifier.out_proj"
	if family == "bert" {
		dense, last = n.prefix+"pooler.dense", "classifier"
	}
	first := n.gather(states, n.index(0), 1)
	return n.linear(n.op("Tanh", n.linear(first, dense, size, size)), last, size, 1)
}
