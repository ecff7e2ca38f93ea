package modelimport

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// family describes one architecture: the keys of config.json, the names of the tensors, and the parts of the network in
// which it differs from the others.
type family struct {
	aliases      map[string]string // keys that config.json may have instead of BERT's, by BERT's key
	fixed        map[string]any    // keys of config.json with the only supported value; they may be missing or null
	layerNormEps float32           // if the published code has a constant, else 0: layer_norm_eps of config.json

	// namesGate says that hidden_act may name a gated linear unit, see gates.
	namesGate bool
	// positionType is the only supported value of position_embedding_type, which may be missing; "" for absolute.
	positionType string
	// check refuses what fixed cannot say; it may be nil.
	check func(*folder) error
	// variant is a family with the same keys of config.json but other tensors, or nil: see variantOf.
	variant *family

	decoder *decoder // of a decoder-only architecture, else nil

	wordTable     string // name of the tensor of word embeddings
	embeddingNorm string // layer normalization of the embeddings
	layerPrefix   string // of the names of a layer's tensors, before its number
	names         layerNames
	noBias        bool // the linear maps of layers have no bias
	noNormBias    bool // the layer normalizations have no bias

	// finalNorm is the normalization after the last layer of a pre-norm family, which normalizes the inputs of
	// attention and feed-forward network. It is "" in a post-norm family, which normalizes the residual sums after
	// them (arXiv:2002.04745).
	finalNorm string

	tokenTypes          bool // the embeddings have a table of token types
	noTypes             bool // type_vocab_size may be 0: no table
	typesFromInput      bool // token types are an input of the graph; else all are 0
	positionsAfterPadID bool // the first token has position padID + 1, as in fairseq; else 0
	padID               int  // default of pad_token_id
	relativeBias        bool // attention scores have a bias that depends on the distance of two tokens: relativeBias
	alibi               bool // attention scores fall with distance, see alibiBias; no table of positions
	rotary              bool // rotary position embeddings (rotation) instead of a table of positions

	// ropeBase returns the base of the rotation's frequencies in a layer (rope_theta).
	ropeBase func(c *modelConfig, layer int) float64
	// classify computes the logit of a cross-encoder from token states.
	classify func(n *network, states string) string
}

// layerNames are the names of a layer's tensors, without .weight and .bias.
type layerNames struct {
	query, key, value string // projections of attention
	qkv               string // query, key and value in one tensor, instead
	queryNorm         string // normalization of all heads' queries together, in a decoder of each; "" for none
	keyNorm           string
	attentionOut      string // output projection of attention
	attentionNorm     string
	residualNorm      string // of the sum of the input and the normalized attention; "" for none
	up, down          string // the first and second linear map of the feed-forward network
	gate              string // gate of a gated linear unit, see feedForward; "" for none
	gateUp            string // gate and up in one tensor, instead
	upGate            string // up and gate in one tensor, instead
	feedForwardNorm   string
}

const (
	bertWords = "embeddings.word_embeddings.weight"
	bertNorm  = "embeddings.LayerNorm"
)

var bertNames = layerNames{
	query: "attention.self.query", key: "attention.self.key", value: "attention.self.value",
	attentionOut: "attention.output.dense", attentionNorm: "attention.output.LayerNorm",
	up: "intermediate.dense", down: "output.dense", feedForwardNorm: "output.LayerNorm",
}

var (
	bert = &family{
		wordTable: bertWords, embeddingNorm: bertNorm,
		layerPrefix: "encoder.layer", names: bertNames, tokenTypes: true, typesFromInput: true,
		classify: bertClassifier,
	}
	roberta = &family{
		wordTable: bertWords, embeddingNorm: bertNorm,
		layerPrefix: "encoder.layer", names: bertNames, tokenTypes: true, positionsAfterPadID: true, padID: 1,
		classify: robertaClassifier,
	}
	distilbert = &family{
		aliases: map[string]string{
			"hidden_size": "dim", "num_hidden_layers": "n_layers", "num_attention_heads": "n_heads",
			"intermediate_size": "hidden_dim", "hidden_act": "activation",
		},
		layerNormEps: 1e-12,

		wordTable: bertWords, embeddingNorm: bertNorm,
		layerPrefix: "transformer.layer",
		names: layerNames{
			query: "attention.q_lin", key: "attention.k_lin", value: "attention.v_lin",
			attentionOut: "attention.out_lin", attentionNorm: "sa_layer_norm",
			up: "ffn.lin1", down: "ffn.lin2", feedForwardNorm: "output_layer_norm",
		},
		classify: func(n *network, states string) string {
			return n.classifier(n.firstState(states), "pre_classifier", "Relu", "classifier")
		},
	}
	mpnet = &family{
		// MPNetEmbeddings and MPNetEncoder of transformers have these as constants, and ignore the keys.
		fixed: map[string]any{"pad_token_id": 1.0, "relative_attention_num_buckets": float64(relativeBuckets)},

		wordTable: bertWords, embeddingNorm: bertNorm,
		layerPrefix: "encoder.layer",
		names: layerNames{
			query: "attention.attn.q", key: "attention.attn.k", value: "attention.attn.v",
			attentionOut: "attention.attn.o", attentionNorm: "attention.LayerNorm",
			up: "intermediate.dense", down: "output.dense", feedForwardNorm: "output.LayerNorm",
		},
		positionsAfterPadID: true, padID: 1, relativeBias: true,
		classify: robertaClassifier,
	}
	nomicBERT = &family{
		// Published folders have the keys of the original code (nomic-ai/nomic-bert-2048), or those of transformers.
		aliases: map[string]string{
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

		namesGate: true,

		wordTable: bertWords, embeddingNorm: "emb_ln",
		layerPrefix: "encoder.layers",
		names: layerNames{
			qkv: "attn.Wqkv", attentionOut: "attn.out_proj", attentionNorm: "norm1",
			gate: "mlp.fc12", up: "mlp.fc11", down: "mlp.fc2", feedForwardNorm: "norm2",
		},
		noBias: true, tokenTypes: true, typesFromInput: true, rotary: true,
		ropeBase: func(c *modelConfig, _ int) float64 { return cmp.Or(c.Rope.Theta, c.RotaryBase, 1000) },
		classify: bertClassifier,
	}
	modernBERT = &family{
		aliases: map[string]string{"hidden_act": "hidden_activation", "layer_norm_eps": "norm_eps"},
		fixed: map[string]any{
			"attention_bias": false, "mlp_bias": false, "norm_bias": false, "rope_scaling": nil,
			"classifier_bias": false, "classifier_activation": "gelu",
		},

		wordTable: "embeddings.tok_embeddings.weight", embeddingNorm: "embeddings.norm",
		layerPrefix: "layers",
		names: layerNames{
			qkv: "attn.Wqkv", attentionOut: "attn.Wo", attentionNorm: "attn_norm",
			gateUp: "mlp.Wi", down: "mlp.Wo", feedForwardNorm: "mlp_norm",
		},
		noBias: true, noNormBias: true, finalNorm: "final_norm", rotary: true,
		ropeBase: modernRopeBase,
		classify: modernClassifier,
	}
)

func bertClassifier(n *network, states string) string {
	return n.classifier(n.firstState(states), n.prefix+"pooler.dense", "Tanh", "classifier")
}

func robertaClassifier(n *network, states string) string {
	return n.classifier(n.firstState(states), "classifier.dense", "Tanh", "classifier.out_proj")
}

// families are the supported values of model_type.
var families = map[string]*family{
	"bert":        bert, // or jinaBERT
	"roberta":     roberta,
	"xlm-roberta": roberta,
	"camembert":   roberta,
	"distilbert":  distilbert,
	"mpnet":       mpnet,
	"nomic_bert":  nomicBERT,
	"modernbert":  modernBERT,
	"new":         gte,
	"gte":         gte,

	"qwen2":         qwen2,
	"qwen3":         qwen3,
	"gemma3_text":   gemma3,
	"mistral":       mistral,
	"llama":         llama,
	"llama_bidirec": llamaBidirectional,
}

// family returns the family of model_type. Other types, whose ONNX graph can be imported, have the keys of BERT.
func (f *folder) family() *family {
	if f.ModelType == "bert" && f.PositionType == jinaBERT.positionType {
		return jinaBERT
	}
	if family, ok := families[f.ModelType]; ok {
		return family
	}
	return bert
}

// checkFamily refuses a model type without a family, and settings that the family does not support.
func (f *folder) checkFamily() error {
	family := f.family()
	if _, ok := families[f.ModelType]; !ok {
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
	if want := cmp.Or(family.positionType, "absolute"); f.PositionType != "" && f.PositionType != want {
		return fmt.Errorf("config.json: position_embedding_type %q is not supported, only %s", f.PositionType, want)
	}
	if family.check != nil {
		return family.check(f)
	}
	return nil
}

// gates has the activations of gated linear units by name (arXiv:2002.05202).
var gates = map[string]string{"swiglu": "silu", "geglu": "gelu", "reglu": "relu"}

// applyAliases sets the members of modelConfig whose keys have other names in config.json, and layer_norm_eps where the
// family has a constant.
func (f *folder) applyAliases() error {
	family := f.family()
	if family.layerNormEps > 0 {
		f.LayerNormEps = family.layerNormEps
	}
	f.aliases = map[string]string{}
	values := map[string]any{}
	for key, alias := range family.aliases {
		if value, ok := f.config[alias]; ok {
			f.aliases[key] = alias
			values[key] = value
		}
	}
	if name, ok := values["hidden_act"].(string); ok && family.namesGate {
		values["hidden_act"] = cmp.Or(gates[name], name)
	}
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &f.modelConfig); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	return nil
}

// key returns the key that config.json has for one of BERT's keys.
func (f *folder) key(name string) string { return cmp.Or(f.aliases[name], name) }
