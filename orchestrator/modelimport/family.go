package modelimport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// family is how the published code of a model type differs from that of the others.
type family struct {
	keys         map[string]string // of config.json: names by the name that BERT's has
	layerNormEps float32           // if the code has a constant instead of a key

	layers string // prefix of the tensors of a layer, before its number
	names  layerNames

	tokenTypes      bool // the embeddings have a table of token types
	typesFromText   bool // token types tell the two texts of a pair apart; else all are 0
	positionsFromID bool // positions are counted from the id of padding + 1, as in fairseq; else from 0
	padID           int  // id of padding without pad_token_id in config.json
	relativeBias    bool // attention scores depend on the distance of tokens

	check func(*modelConfig) error // refuses settings that only this family has; may be nil

	// classify computes the logit from the states of the first tokens.
	classify func(n *network, first string) string
}

// layerNames are the names of a layer's tensors, without .weight and .bias.
type layerNames struct {
	query, key, value, mix string // projections of attention; mix is the one of its output
	mixNorm                string
	inner, outer           string // feed-forward network
	outerNorm              string
}

var bertNames = layerNames{
	query: "attention.self.query", key: "attention.self.key", value: "attention.self.value",
	mix: "attention.output.dense", mixNorm: "attention.output.LayerNorm",
	inner: "intermediate.dense", outer: "output.dense", outerNorm: "output.LayerNorm",
}

var (
	bert = &family{
		layers: "encoder.layer", names: bertNames, tokenTypes: true, typesFromText: true,
		classify: func(n *network, first string) string {
			return n.classifier(first, n.prefix+"pooler.dense", "Tanh", "classifier")
		},
	}
	roberta = &family{
		layers: "encoder.layer", names: bertNames, tokenTypes: true, positionsFromID: true, padID: 1,
		classify: robertaClassifier,
	}
	distilbert = &family{
		keys: map[string]string{
			"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
			"intermediate_size": "hidden_dim", "hidden_act": "activation",
		},
		layerNormEps: 1e-12,

		layers: "transformer.layer",
		names: layerNames{
			query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin",
			mix: "attention.out_lin", mixNorm: "sa_layer_norm",
			inner: "ffn.lin1", outer: "ffn.lin2", outerNorm: "output_layer_norm",
		},
		classify: func(n *network, first string) string {
			return n.classifier(first, "pre_classifier", "Relu", "classifier")
		},
	}
	mpnet = &family{
		layers: "encoder.layer",
		names: layerNames{
			query: "attention.attn.q", key: "attention.attn.k", value: "attention.attn.v",
			mix: "attention.attn.o", mixNorm: "attention.LayerNorm",
			inner: "intermediate.dense", outer: "output.dense", outerNorm: "output.LayerNorm",
		},
		positionsFromID: true, padID: 1, relativeBias: true,
		check:    checkMPNet,
		classify: robertaClassifier,
	}
)

func robertaClassifier(n *network, first string) string {
	return n.classifier(first, "classifier.dense", "Tanh", "classifier.out_proj")
}

// families are the supported values of model_type.
var families = map[string]*family{
	"bert":        bert,
	"roberta":     roberta,
	"xlm-roberta": roberta,
	"camembert":   roberta,
	"distilbert":  distilbert,
	"mpnet":       mpnet,
}

// family returns the family of the model; for one that is not supported, which has an ONNX graph, a BERT.
func (f *folder) family() *family {
	if family, ok := families[f.ModelType]; ok {
		return family
	}
	return bert
}

// checkFamily refuses a model type that buildGraph cannot build.
func (f *folder) checkFamily() error {
	family, ok := families[f.ModelType]
	if !ok {
		return fmt.Errorf("config.json: model_type %q (architectures %v) is not supported: weights in safetensors "+
			"must be of %s; other models need an ONNX graph",
			f.ModelType, f.Architectures, strings.Join(slices.Sorted(maps.Keys(families)), ", "))
	}
	if family.check != nil {
		return family.check(&f.modelConfig)
	}
	return nil
}

// renameKeys reads the keys of config.json that have other names in the family, and sets what its code does not read
// from config.json.
func (f *folder) renameKeys() error {
	family := f.family()
	if family.layerNormEps > 0 {
		f.LayerNormEps = family.layerNormEps
	}
	if family.keys == nil {
		return nil
	}
	var config map[string]json.RawMessage
	if _, err := f.readJSON("config.json", &config); err != nil {
		return err
	}
	renamed := map[string]json.RawMessage{}
	for key, name := range family.keys {
		if value, ok := config[name]; ok {
			renamed[key] = value
		}
	}
	text, err := json.Marshal(renamed)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &f.modelConfig); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	return nil
}

// key returns the name that a key of BERT's config.json has in the family.
func (f *folder) key(name string) string { return cmp.Or(f.family().keys[name], name) }
