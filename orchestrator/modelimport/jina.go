package modelimport

import (
	"fmt"
	"math"
	"strings"
)

// JinaBERT (arXiv:2310.19923) is a BERT with gated linear units and ALiBi instead of a table of positions. Its two
// public implementations have different tensors: jinaai/jina-bert-implementation (jina-embeddings-v2 in English,
// jina-reranker-v1), and jinaai/jina-bert-v2-qk-post-norm (jina-embeddings-v2 for code and other languages). The second
// also normalizes queries and keys, and adds and normalizes the input of attention twice.
var (
	jinaBERT = &family{
		aliases:   map[string]string{"hidden_act": "feed_forward_type"},
		namesGate: true, positionType: "alibi", check: checkJina, variant: jinaQKNorm,

		wordTable: bertWords, embeddingNorm: bertNorm,
		layerPrefix: "encoder.layer",
		names: layerNames{
			query: bertNames.query, key: bertNames.key, value: bertNames.value,
			attentionOut: bertNames.attentionOut, attentionNorm: bertNames.attentionNorm,
			gateUp: "mlp.gated_layers", down: "mlp.wo", feedForwardNorm: "mlp.layernorm",
		},
		tokenTypes: true, typesFromInput: true, alibi: true,
		classify: bertClassifier,
	}
	jinaQKNorm = &family{
		wordTable: bertWords, embeddingNorm: bertNorm,
		layerPrefix: "encoder.layer",
		names: layerNames{
			query: bertNames.query, key: bertNames.key, value: bertNames.value,
			queryNorm: "attention.self.layer_norm_q", keyNorm: "attention.self.layer_norm_k",
			attentionOut: bertNames.attentionOut, attentionNorm: bertNames.attentionNorm, residualNorm: "layer_norm_1",
			upGate: "mlp.up_gated_layer", down: "mlp.down_layer", feedForwardNorm: "layer_norm_2",
		},
		tokenTypes: true, typesFromInput: true, alibi: true,
		classify: bertClassifier,
	}
)

func checkJina(f *folder) error {
	if kind := f.config["feed_forward_type"]; kind != "geglu" && kind != "reglu" {
		return fmt.Errorf("config.json: feed_forward_type %v is not supported, only geglu and reglu", kind)
	}
	return nil
}

// variantOf returns the variant of a family if the weights have its feed-forward tensors, else the family.
func (f *family) variantOf(s *safetensors) *family {
	if f.variant == nil {
		return f
	}
	for name := range s.tensors {
		if strings.HasSuffix(name, f.variant.names.down+".weight") {
			return f.variant
		}
	}
	return f
}

// alibiBias returns -slope·|distance| for each head and pair of tokens (the symmetric form of ALiBi, arXiv:2108.12409):
// [heads, queries, keys].
func (n *network) alibiBias(s scorePairs) string {
	slopes := alibiSlopes(n.folder.Heads)
	for i := range slopes {
		slopes[i] = -slopes[i]
	}
	keys := n.reshape(s.keys, 1, -1)
	queries := n.reshape(s.queries, -1, 1)
	distances := n.cast(n.op("Abs", n.op("Sub", keys, queries)), onnxFloat)
	return n.op("Mul", n.reshape(n.float32Vector(slopes), -1, 1, 1), distances)
}

// alibiSlopes returns the slopes of the heads. If their number n is a power of two, they are the powers of 2^(-8/n). If
// not, they are the slopes of the power of two below n, then every other slope of the one above (get_slopes in
// https://github.com/ofirpress/attention_with_linear_biases).
func alibiSlopes(heads int) []float32 {
	power := 1
	for 2*power <= heads {
		power *= 2
	}
	slopes := make([]float32, 0, heads)
	for i := range power {
		slopes = append(slopes, float32(math.Exp2(-8*float64(i+1)/float64(power))))
	}
	for i := 0; len(slopes) < heads; i += 2 {
		slopes = append(slopes, float32(math.Exp2(-8*float64(i+1)/float64(2*power))))
	}
	return slopes
}
