package modelimport

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// decoder describes a decoder-only architecture: Llama (arXiv:2302.13971; models/llama of transformers) and its
// relatives. Its layers normalize the inputs of attention and feed-forward network by their root mean square
// (arXiv:1910.07467), queries share the keys and values of their group of heads (arXiv:2305.13245), and the
// feed-forward network is a gated linear unit.
type decoder struct {
	projectionBias bool // the projections to queries, keys and values always have a bias
	headNorms      bool // queries and keys are normalized, each head by itself
	bidirectional  bool // tokens attend to the tokens after them too
	reranks        bool // a causal language model of the family ranks with the logits of the tokens yes and no
	// gemma: norms scale by 1 + weight and also normalize the outputs of attention and feed-forward network, embeddings
	// are multiplied by √hidden, and local layers have rotary embeddings of their own (arXiv:2503.19786).
	gemma bool

	ropeBase float64 // default of rope_theta
	// pairTemplate is the form of a query and a passage that the published rankers were trained with, or "".
	pairTemplate string
	// isLocal reports whether a layer has sliding-window attention. It may be nil: none has.
	isLocal func(c *modelConfig, layer int) bool
}

// decoderConfig has the members of config.json that only decoders have.
type decoderConfig struct {
	KeyValueHeads     int     `json:"num_key_value_heads"`
	NormEps           float32 `json:"rms_norm_eps"`
	AttentionBias     bool    `json:"attention_bias"`
	FeedForwardBias   bool    `json:"mlp_bias"`
	SlidingWindow     *int    `json:"sliding_window"` // in tokens
	UseSliding        bool    `json:"use_sliding_window"`
	MaxWindowLayers   int     `json:"max_window_layers"` // the layers before have full attention
	SlidingPattern    int     `json:"sliding_window_pattern"`
	Theta             float64 `json:"rope_theta"`
	LocalBase         float64 `json:"rope_local_base_freq"`
	Scaling           *rope   `json:"rope_scaling"`
	QueryScalar       float64 `json:"query_pre_attn_scalar"`
	UseBidirectional  bool    `json:"use_bidirectional_attention"`
	Causal            *bool   `json:"is_causal"`
	Tied              bool    `json:"tie_word_embeddings"` // the rows of lm_head are those of the word table
	ClassifierPool    string  `json:"pooling"`
	ClassifierDivisor float64 `json:"temperature"`
}

// decoderDefaults has the values that the configurations of transformers give missing keys.
var decoderDefaults = decoderConfig{
	NormEps: 1e-6, MaxWindowLayers: 28, SlidingPattern: 6, ClassifierPool: "avg", ClassifierDivisor: 1,
}

var (
	qwen2 = newDecoder(decoder{projectionBias: true, ropeBase: 10_000, isLocal: qwenIsLocal})
	qwen3 = newDecoder(decoder{
		headNorms: true, reranks: true, ropeBase: 10_000, isLocal: qwenIsLocal, pairTemplate: qwenPairTemplate,
	})
	mistral = newDecoder(decoder{
		ropeBase: 10_000,
		isLocal:  func(c *modelConfig, _ int) bool { return c.SlidingWindow != nil },
	})
	llama = newDecoder(decoder{ropeBase: 10_000})
	// llamaBidirectional is LlamaBidirectionalModel of nvidia/llama-nemotron-embed-1b-v2 and -rerank-1b-v2.
	llamaBidirectional = newDecoder(decoder{
		bidirectional: true, ropeBase: 10_000, pairTemplate: "question:{query} \n \n passage:{passage}",
	})
	gemma3 = newDecoder(decoder{gemma: true, headNorms: true, ropeBase: 1_000_000, isLocal: gemmaIsLocal})
)

// qwenPairTemplate is the prompt of the model card of Qwen3-Reranker, with its default instruction.
const qwenPairTemplate = "<|im_start|>system\n" +
	"Judge whether the Document meets the requirements based on the Query and the Instruct provided. " +
	"Note that the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n" +
	"<Instruct>: Given a web search query, retrieve relevant passages that answer the query\n" +
	"<Query>: {query}\n<Document>: {passage}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n"

func newDecoder(d decoder) *family {
	f := &family{
		decoder:   &d,
		wordTable: "embed_tokens.weight", layerPrefix: "layers", finalNorm: "norm", noBias: true, rotary: true,
		names: layerNames{
			query: "self_attn.q_proj", key: "self_attn.k_proj", value: "self_attn.v_proj",
			attentionOut: "self_attn.o_proj", attentionNorm: "input_layernorm",
			gate: "mlp.gate_proj", up: "mlp.up_proj", down: "mlp.down_proj",
			feedForwardNorm: "post_attention_layernorm",
		},
		fixed:    map[string]any{"partial_rotary_factor": 1.0},
		classify: (*network).decoderLogit,
	}
	if d.headNorms {
		f.names.queryNorm = "self_attn.q_norm"
		f.names.keyNorm = "self_attn.k_norm"
	}
	if d.gemma {
		f.aliases = map[string]string{"hidden_act": "hidden_activation"}
		f.fixed["attn_logit_softcapping"] = nil
		f.names.feedForwardNorm = "pre_feedforward_layernorm"
	}
	return f
}

func qwenIsLocal(c *modelConfig, layer int) bool {
	switch {
	case !c.UseSliding || c.SlidingWindow == nil:
		return false
	case len(c.LayerTypes) > 0:
		return c.LayerTypes[layer] == slidingAttention
	}
	return layer >= c.MaxWindowLayers
}

func gemmaIsLocal(c *modelConfig, layer int) bool {
	if len(c.LayerTypes) > 0 {
		return c.LayerTypes[layer] == slidingAttention
	}
	return (layer+1)%c.SlidingPattern != 0
}

// headSize returns the length of the query of a head.
func (c *modelConfig) headSize() int { return cmp.Or(c.HeadDim, c.HiddenSize/c.Heads) }

// keyValueHeads returns the number of groups of heads.
func (c *modelConfig) keyValueHeads() int { return cmp.Or(c.KeyValueHeads, c.Heads) }

// isBidirectional reports whether tokens attend to the tokens after them.
func (f *folder) isBidirectional() bool {
	return f.family().decoder.bidirectional || f.UseBidirectional || (f.Causal != nil && !*f.Causal)
}

// maxHeads bounds the number of heads and their size, whose product must not overflow.
const maxHeads = 1 << 20

// checkDecoder refuses a config.json that decoderStates does not support.
func (f *folder) checkDecoder() error {
	c := &f.modelConfig
	d := f.family().decoder
	switch {
	case c.Heads < 1:
		return fmt.Errorf("config.json: num_attention_heads %d must be positive", c.Heads)
	case c.KeyValueHeads < 0 || c.Heads%c.keyValueHeads() != 0:
		return fmt.Errorf("config.json: num_attention_heads %d is not a multiple of num_key_value_heads %d",
			c.Heads, c.KeyValueHeads)
	case c.HeadDim < 0 || c.headSize() == 0 || (c.HeadDim == 0 && c.HiddenSize%c.Heads != 0):
		return fmt.Errorf("config.json: head_dim %d, or hidden_size %d / num_attention_heads %d, must be positive "+
			"and whole", c.HeadDim, c.HiddenSize, c.Heads)
	case c.Heads > maxHeads || c.headSize() > maxHeads:
		return fmt.Errorf("config.json: num_attention_heads %d and head_dim %d must be at most %d",
			c.Heads, c.headSize(), maxHeads)
	case c.headSize()%2 != 0:
		return fmt.Errorf("config.json: heads have the odd size %d, which rotary embeddings do not have", c.headSize())
	case c.NormEps <= 0:
		return fmt.Errorf("config.json: rms_norm_eps %g must be positive", c.NormEps)
	case d.gemma && c.QueryScalar <= 0:
		return fmt.Errorf("config.json: query_pre_attn_scalar %g must be positive", c.QueryScalar)
	case d.isLocal != nil && len(c.LayerTypes) > 0 && len(c.LayerTypes) != c.Layers:
		return fmt.Errorf("config.json: layer_types has %d layers, but num_hidden_layers is %d",
			len(c.LayerTypes), c.Layers)
	case d.isLocal == nil && slices.Contains(c.LayerTypes, slidingAttention):
		return fmt.Errorf("config.json: layer_types %s is not supported for model_type %s",
			slidingAttention, f.ModelType)
	case c.SlidingPattern < 1:
		return fmt.Errorf("config.json: sliding_window_pattern %d must be positive", c.SlidingPattern)
	}
	if err := checkBases("config.json", f.config); err != nil {
		return err
	}
	for layer := range c.Layers {
		known := []string{slidingAttention, fullAttention}
		if layer < len(c.LayerTypes) && !slices.Contains(known, c.LayerTypes[layer]) {
			return fmt.Errorf("config.json: layer_types %q is not supported, only %s and %s",
				c.LayerTypes[layer], fullAttention, slidingAttention)
		}
		local := d.isLocal != nil && d.isLocal(c, layer)
		if local && (c.SlidingWindow == nil || *c.SlidingWindow < 1) {
			return errors.New("config.json: sliding_window must be positive")
		}
		if err := f.ropeOf(layer).checkScaling(); err != nil {
			return err
		}
	}
	return nil
}

// ropeOf returns the settings of the rotary embeddings of a layer.
func (f *folder) ropeOf(layer int) rope {
	d := f.family().decoder
	settings := f.Rope.rope
	if d.gemma {
		settings = f.Rope.Full
		if d.isLocal(&f.modelConfig, layer) {
			settings = f.Rope.Sliding
			settings.Theta = cmp.Or(settings.Theta, f.LocalBase, 10_000)
			return settings
		}
	}
	if f.Scaling != nil && settings.Type == "" {
		theta := settings.Theta
		settings = *f.Scaling
		settings.Theta = theta
	}
	settings.Theta = cmp.Or(settings.Theta, f.Theta, d.ropeBase)
	return settings
}

// kind returns the kind of scaling, which old files call type.
func (r rope) kind() string { return cmp.Or(r.Type, r.OldType, "default") }

// checkScaling refuses scaling that frequencies does not support.
func (r rope) checkScaling() error {
	kind := r.kind()
	switch {
	case kind != "default" && kind != "linear" && kind != "llama3":
		return fmt.Errorf("config.json: rope_scaling or rope_parameters: rope_type %q is not supported, "+
			"only default, linear and llama3", kind)
	case kind != "default" && r.Factor < 1:
		return fmt.Errorf("config.json: rope_scaling or rope_parameters: factor %g must be at least 1", r.Factor)
	case kind == "llama3" && (r.LowFactor <= 0 || r.HighFactor <= r.LowFactor || r.Original < 1):
		return fmt.Errorf("config.json: rope_scaling or rope_parameters: low_freq_factor %g, high_freq_factor %g and "+
			"original_max_position_embeddings %d must be positive and ascending", r.LowFactor, r.HighFactor, r.Original)
	}
	return nil
}

// frequencies returns the angles by which a position rotates the pairs of a head of the given size, in radians
// (_compute_llama3_parameters of transformers for Llama 3): with the scaling of Llama 3, wavelengths above
// original/low are longer by factor, those below original/high are kept, and those between are interpolated.
func (r rope) frequencies(headSize int) []float32 {
	frequencies := make([]float32, headSize/2)
	for i := range frequencies {
		exponent := float32(2*i) / float32(headSize)
		f := 1 / float64(float32(math.Pow(r.Theta, float64(exponent)))) // rounded to 32 bits, as in transformers
		switch r.kind() {
		case "linear":
			f /= r.Factor
		case "llama3":
			turns := float64(r.Original) * f / (2 * math.Pi) // within the original length
			smooth := (turns - r.LowFactor) / (r.HighFactor - r.LowFactor)
			smooth = min(max(smooth, 0), 1)
			f = (1-smooth)*f/r.Factor + smooth*f
		}
		frequencies[i] = float32(f)
	}
	return frequencies
}

// rmsNorm is x / √(mean(x²) + eps) · weight over the last axis, of the given size.
func (n *network) rmsNorm(x, name string, size int) string {
	weight := n.tensor(name+".weight", int64(size))
	if n.family.decoder.gemma {
		weight = slices.Clone(weight)
		for i := range weight {
			weight[i]++
		}
	}
	if n.err != nil {
		return ""
	}
	square := n.op("Pow", x, n.float32Scalar(2))
	mean := n.node("ReduceMean", []string{square}, intsAttribute("axes", -1), intAttribute("keepdims", 1))
	root := n.op("Sqrt", n.op("Add", mean, n.float32Scalar(n.folder.NormEps)))
	return n.op("Mul", n.op("Div", x, root), n.float32s(name+".weight", []int64{int64(size)}, weight))
}

// project is x·Wᵀ, with a bias if there is one.
func (n *network) project(x, name string, in, out int, bias bool) string {
	if bias {
		return n.linear(x, name, in, out)
	}
	return n.product(x, name, in, out, 0, 1)
}

// decoderStates returns the token states of the last layer, normalized: [batch, tokens, hidden].
func (n *network) decoderStates() string {
	c := n.folder
	n.findCells()
	x := n.unpad(n.embed(n.prefix+n.family.wordTable, n.ids, c.VocabSize), c.HiddenSize)
	if n.err != nil {
		return ""
	}
	if n.family.decoder.gemma {
		x = n.op("Mul", x, n.float32Scalar(float32(math.Sqrt(float64(c.HiddenSize)))))
	}
	for i := range c.Layers {
		if x = n.decoderLayer(x, i); n.err != nil {
			return ""
		}
	}
	return n.pad(n.rmsNorm(x, n.prefix+n.family.finalNorm, c.HiddenSize))
}

// decoderWindow returns the window of local layers, in tokens: a query sees the keys at a smaller distance.
func (f *folder) decoderWindow() int {
	if f.family().decoder.gemma && f.UseBidirectional { // Gemma3TextConfig of transformers
		return *f.SlidingWindow/2 + 1
	}
	return *f.SlidingWindow
}

func (n *network) decoderLayer(x string, i int) string {
	c := n.folder
	names := n.family.names
	prefix := fmt.Sprintf("%s%s.%d.", n.prefix, n.family.layerPrefix, i)
	attended := n.decoderAttention(n.rmsNorm(x, prefix+names.attentionNorm, c.HiddenSize), prefix, i)
	if n.family.decoder.gemma {
		attended = n.rmsNorm(attended, prefix+"post_attention_layernorm", c.HiddenSize)
	}
	x = n.op("Add", attended, x)
	inner := n.rmsNorm(x, prefix+names.feedForwardNorm, c.HiddenSize)
	if n.err != nil {
		return ""
	}
	gate := activations[c.HiddenAct](n.graph,
		n.project(inner, prefix+names.gate, c.HiddenSize, c.IntermediateSize, c.FeedForwardBias))
	up := n.project(inner, prefix+names.up, c.HiddenSize, c.IntermediateSize, c.FeedForwardBias)
	down := n.project(n.op("Mul", gate, up), prefix+names.down, c.IntermediateSize, c.HiddenSize, c.FeedForwardBias)
	if n.family.decoder.gemma {
		down = n.rmsNorm(down, prefix+"post_feedforward_layernorm", c.HiddenSize)
	}
	return n.op("Add", down, x)
}

// decoderAttention is attention whose queries share the keys and values of their group, with the output projection.
func (n *network) decoderAttention(x, prefix string, layer int) string {
	c := n.folder
	names := n.family.names
	size := c.headSize()
	head := int64(size)
	heads := int64(c.Heads)
	groups := int64(c.keyValueHeads())
	bias := n.family.decoder.projectionBias || c.AttentionBias
	project := func(name, norm string, heads int64) string { // [batch, tokens, heads, size of a head]
		p := n.project(x, prefix+name, c.HiddenSize, int(heads)*size, bias)
		p = n.reshape(p, -1, heads, head)
		if norm != "" {
			p = n.rmsNorm(p, prefix+norm, size)
		}
		return n.pad(p)
	}
	query := project(names.query, names.queryNorm, heads)
	key := project(names.key, names.keyNorm, groups)
	value := project(names.value, "", groups)
	if n.err != nil { // head_dim may be any number
		return ""
	}
	r := n.rotationOf(c.ropeOf(layer).frequencies(size))
	query = n.rotate(query, r)
	key = n.rotate(key, r)
	scale := 1 / math.Sqrt(float64(size))
	if n.family.decoder.gemma {
		scale = 1 / math.Sqrt(c.QueryScalar)
	}
	mixed := n.attend(query, key, value, scale, layer)
	return n.project(mixed, prefix+names.attentionOut, c.Heads*size, c.HiddenSize, c.AttentionBias)
}

// decoderLogit returns the logit of a ranker: a projection of the pooled states (score.weight), or, for a causal
// language model, logit(yes) - logit(no) after the last token. The softmax of both, which the published code returns,
// is the sigmoid of their difference.
func (n *network) decoderLogit(states string) string {
	size := n.folder.HiddenSize
	if n.err != nil {
		return ""
	}
	if t, ok := n.source.tensors["score.weight"]; ok {
		if len(t.Shape) == 2 && t.Shape[0] != 1 {
			n.err = fmt.Errorf("%s: tensor score.weight has %d labels, but a ranker returns one logit",
				t.name, t.Shape[0])
			return ""
		}
		logit := n.product(n.reshape(n.poolRanker(states), 0, -1), "score", size, 1, 0, 1)
		return n.op("Div", logit, n.float32Scalar(float32(n.folder.ClassifierDivisor)))
	}
	if !n.family.decoder.reranks || !n.folder.isCausalLM() {
		n.err = fmt.Errorf("the weights have no score.weight: %v is not a ranker", n.folder.Architectures)
		return ""
	}
	table := "lm_head.weight"
	if _, ok := n.source.tensors[table]; !ok || n.folder.Tied {
		table = n.prefix + n.family.wordTable
	}
	yes, no, err := n.folder.yesNo()
	if err != nil {
		n.err = cmp.Or(n.err, err)
		return ""
	}
	values := n.tensor(table, int64(n.folder.VocabSize), int64(size))
	if n.err != nil {
		return ""
	}
	direction := make([]float32, size)
	for i := range direction {
		direction[i] = values[yes*size+i] - values[no*size+i]
	}
	weight := n.float32s("yes_minus_no", []int64{int64(size), 1}, direction)
	return n.op("MatMul", n.reshape(n.poolTokens(states, n.mask, "lasttoken"), 0, -1), weight)
}

// isCausalLM reports whether the folder is a causal language model.
func (f *folder) isCausalLM() bool {
	return slices.ContainsFunc(f.Architectures, func(a string) bool { return strings.HasSuffix(a, "ForCausalLM") })
}

// yesNo returns the ids of the tokens yes and no.
func (f *folder) yesNo() (yes, no int, err error) {
	var t struct {
		Model struct {
			Vocabulary map[string]int `json:"vocab"`
		} `json:"model"`
	}
	if _, err := f.readJSON("tokenizer.json", &t); err != nil {
		return 0, 0, err
	}
	ids := map[string]int{}
	for _, token := range []string{"yes", "no"} {
		id, ok := t.Model.Vocabulary[token]
		if !ok || id < 0 || id >= f.VocabSize {
			return 0, 0, fmt.Errorf("tokenizer.json: the vocabulary has no token %q, whose logit ranks", token)
		}
		ids[token] = id
	}
	return ids["yes"], ids["no"], nil
}

// poolRanker pools the states of a ranker: those of the last token before padding (ForSequenceClassification of
// transformers, where tokens with the id of padding do not count), or for llama_bidirec by the key pooling.
func (n *network) poolRanker(states string) string {
	if n.family.decoder.bidirectional {
		mode, ok := map[string]string{"avg": "mean", "cls": "cls", "last": "lasttoken"}[n.folder.ClassifierPool]
		if !ok {
			n.err = cmp.Or(n.err, fmt.Errorf("config.json: pooling %q is not supported, only avg, cls and last",
				n.folder.ClassifierPool))
		}
		return n.poolTokens(states, n.mask, mode)
	}
	mask := n.mask
	if n.folder.PadTokenID != nil {
		isPad := n.op("Equal", n.ids, n.int64Scalar(int64(*n.folder.PadTokenID)))
		mask = n.op("Mul", mask, n.cast(n.op("Not", isPad), onnxInt64))
	}
	return n.poolTokens(states, mask, "lasttoken")
}
