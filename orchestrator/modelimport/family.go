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
	keys         map[string]string // of config.json: other names of BERT's keys, which may be used instead
	fixed        map[string]any    // keys of config.json that must be missing, null or have this value
	layerNormEps float32           // if the code has a constant instead of a key

	words, wordsNorm string // tensors of the embeddings
	layers           string // prefix of the tensors of a layer, before its number
	names            layerNames
	noBias           bool // the linear maps of layers have no bias
	noNormBias       bool // the layer normalizations have no bias

	// lastNorm is the normalization after the last layer, in a family that normalizes the inputs of attention and
	// feed-forward network (pre-norm). It is "" in a family that normalizes the residual sums after them (post-norm).
	lastNorm string

	tokenTypes      bool // the embeddings have a table of token types
	typesFromText   bool // token types tell the two texts of a pair apart; else all are 0
	positionsFromID bool // positions are counted from the id of padding + 1, as in fairseq; else from 0
	padID           int  // id of padding without pad_token_id in config.json
	relativeBias    bool // attention scores depend on the distance of tokens
	rotary          bool // positions rotate queries and keys, instead of a table of positions

	// rope returns the frequency base of a layer's rotation.
	rope func(c *modelConfig, layer int) float64
	// classify computes the logit from token states.
	classify func(n *network, states string) string
}

// layerNames are the names of a layer's tensors, without .weight and .bias.
type layerNames struct {
	query, key, value string // projections of attention
	fused             string // the three projections in one tensor, instead
	mix, mixNorm      string // projection of attention's output
	gate              string // its activation is multiplied with inner, which then has none; "" for none
	fusedGate         string // gate and inner in one tensor, instead
	inner, outer      string // feed-forward network
	outerNorm         string
}

const (
	bertWords = "embeddings.word_embeddings.weight"
	bertNorm  = "embeddings.LayerNorm"
)

var bertNames = layerNames{
	query: "attention.self.query", key: "attention.self.key", value: "attention.self.value",
	mix: "attention.output.dense", mixNorm: "attention.output.LayerNorm",
	inner: "intermediate.dense", outer: "output.dense", outerNorm: "output.LayerNorm",
}

var (
	bert = &family{
		words: bertWords, wordsNorm: bertNorm,
		layers: "encoder.layer", names: bertNames, tokenTypes: true, typesFromText: true,
		classify: bertClassifier,
	}
	roberta = &family{
		words: bertWords, wordsNorm: bertNorm,
		layers: "encoder.layer", names: bertNames, tokenTypes: true, positionsFromID: true, padID: 1,
		classify: robertaClassifier,
	}
	distilbert = &family{
		keys: map[string]string{
			"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
			"intermediate_size": "hidden_dim", "hidden_act": "activation",
		},
		layerNormEps: 1e-12,

		words: bertWords, wordsNorm: bertNorm,
		layers: "transformer.layer",
		names: layerNames{
			query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin",
			mix: "attention.out_lin", mixNorm: "sa_layer_norm",
			inner: "ffn.lin1", outer: "ffn.lin2", outerNorm: "output_layer_norm",
		},
		classify: func(n *network, states string) string {
			return n.classifier(n.first(states), "pre_classifier", "Relu", "classifier")
		},
	}
	mpnet = &family{
		// The published code has these as constants, and does not read the keys.
		fixed: map[string]any{"pad_token_id": 1.0, "relative_attention_num_buckets": float64(relativeBuckets)},

		words: bertWords, wordsNorm: bertNorm,
		layers: "encoder.layer",
		names: layerNames{
			query: "attention.attn.q", key: "attention.attn.k", value: "attention.attn.v",
			mix: "attention.attn.o", mixNorm: "attention.LayerNorm",
			inner: "intermediate.dense", outer: "output.dense", outerNorm: "output.LayerNorm",
		},
		positionsFromID: true, padID: 1, relativeBias: true,
		classify: robertaClassifier,
	}
	nomicBERT = &family{
		// Published folders have the keys of the model's first code, or those of transformers.
		keys: map[string]string{
			"hidden_size": "n_embd", "num_hidden_layers": "n_layer", "num_attention_heads": "n_head",
			"intermediate_size": "n_inner", "hidden_act": "activation_function",
			"layer_norm_eps": "layer_norm_epsilon", "max_position_embeddings": "n_positions",
		},
		fixed: map[string]any{
			"causal": false, "prenorm": false, "parallel_block": false, "use_rms_norm": false,
			"qkv_proj_bias": false, "mlp_fc1_bias": false, "mlp_fc2_bias": false, "num_experts": 0.0,
			"rotary_emb_fraction": 1.0, "rotary_emb_interleaved": false, "rotary_emb_scale_base": nil,
			"rotary_scaling_factor": nil, "rope_scaling": nil,
		},

		words: bertWords, wordsNorm: "emb_ln",
		layers: "encoder.layers",
		names: layerNames{
			fused: "attn.Wqkv", mix: "attn.out_proj", mixNorm: "norm1",
			gate: "mlp.fc12", inner: "mlp.fc11", outer: "mlp.fc2", outerNorm: "norm2",
		},
		noBias: true, tokenTypes: true, typesFromText: true, rotary: true,
		rope:     func(c *modelConfig, _ int) float64 { return cmp.Or(c.Rope.Theta, c.RotaryBase, 1000) },
		classify: bertClassifier,
	}
	modernBERT = &family{
		keys: map[string]string{"hidden_act": "hidden_activation", "layer_norm_eps": "norm_eps"},
		fixed: map[string]any{
			"attention_bias": false, "mlp_bias": false, "norm_bias": false, "rope_scaling": nil,
			"classifier_bias": false, "classifier_activation": "gelu",
		},

		words: "embeddings.tok_embeddings.weight", wordsNorm: "embeddings.norm",
		layers: "layers",
		names: layerNames{
			fused: "attn.Wqkv", mix: "attn.Wo", mixNorm: "attn_norm",
			fusedGate: "mlp.Wi", outer: "mlp.Wo", outerNorm: "mlp_norm",
		},
		noBias: true, noNormBias: true, lastNorm: "final_norm", rotary: true,
		rope:     modernRope,
		classify: modernClassifier,
	}
)

func bertClassifier(n *network, states string) string {
	return n.classifier(n.first(states), n.prefix+"pooler.dense", "Tanh", "classifier")
}

func robertaClassifier(n *network, states string) string {
	return n.classifier(n.first(states), "classifier.dense", "Tanh", "classifier.out_proj")
}

// families are the supported values of model_type.
var families = map[string]*family{
	"bert":        bert,
	"roberta":     roberta,
	"xlm-roberta": roberta,
	"camembert":   roberta,
	"distilbert":  distilbert,
	"mpnet":       mpnet,
	"nomic_bert":  nomicBERT,
	"modernbert":  modernBERT,
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
	for _, key := range slices.Sorted(maps.Keys(family.fixed)) {
		if value, ok := f.config[key]; ok && value != nil && value != family.fixed[key] {
			only := ""
			if want := family.fixed[key]; want != nil {
				only = fmt.Sprintf(", only %v", want)
			}
			return fmt.Errorf("config.json: %s %v is not supported%s", key, value, only)
		}
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
	f.renamed = map[string]string{}
	renamed := map[string]any{}
	for key, name := range family.keys {
		if value, ok := f.config[name]; ok {
			f.renamed[key] = name
			renamed[key] = value
		}
	}
	if renamed["hidden_act"] == "swiglu" {
		renamed["hidden_act"] = "silu" // the activation of the gate
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

// key returns the name that a key of BERT's config.json has in the folder.
func (f *folder) key(name string) string { return cmp.Or(f.renamed[name], name) }
