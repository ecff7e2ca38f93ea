package modelimport

import (
	"cmp"
	"fmt"
	"slices"
)

// modernConfig has the members of config.json that only ModernBERT has.
type modernConfig struct {
	LocalAttention    int      `json:"local_attention"` // size of the window in tokens: half before the query, half after it
	GlobalEvery       int      `json:"global_attn_every_n_layers"`
	LayerTypes        []string `json:"layer_types"`
	GlobalTheta       float64  `json:"global_rope_theta"`
	LocalTheta        *float64 `json:"local_rope_theta"` // null: as GlobalTheta
	ClassifierPooling string   `json:"classifier_pooling"`
}

// modernDefaults returns the values that ModernBertConfig of transformers gives missing keys.
func modernDefaults() modernConfig {
	localTheta := 10_000.0
	return modernConfig{
		LocalAttention: 128, GlobalEvery: 3, GlobalTheta: 160_000, LocalTheta: &localTheta, ClassifierPooling: "cls",
	}
}

// The values of layer_types.
const (
	fullAttention    = "full_attention"
	slidingAttention = "sliding_attention"
)

// isLocal reports whether a layer has sliding-window attention.
func (c *modelConfig) isLocal(layer int) bool {
	switch {
	case c.ModelType != "modernbert":
		return false
	case len(c.LayerTypes) > 0:
		return c.LayerTypes[layer] == slidingAttention
	}
	return layer%c.GlobalEvery != 0
}

// window returns the largest distance of query and key in a local layer, in tokens.
func (c *modelConfig) window() int { return c.LocalAttention / 2 }

func modernRopeBase(c *modelConfig, layer int) float64 {
	global := cmp.Or(c.Rope.Full.Theta, c.GlobalTheta)
	switch {
	case !c.isLocal(layer):
		return global
	case c.Rope.Sliding.Theta > 0 || c.LocalTheta == nil:
		return cmp.Or(c.Rope.Sliding.Theta, global)
	}
	return *c.LocalTheta
}

// checkModern refuses settings of ModernBERT that buildGraph does not support.
func (c *modelConfig) checkModern() error {
	unknown := func(t string) bool { return t != fullAttention && t != slidingAttention }
	switch {
	case c.ModelType != "modernbert":
		return nil
	case len(c.LayerTypes) > 0 && (len(c.LayerTypes) != c.Layers || slices.ContainsFunc(c.LayerTypes, unknown)):
		return fmt.Errorf("config.json: layer_types %v must be %s or %s for each of %d layers",
			c.LayerTypes, fullAttention, slidingAttention, c.Layers)
	case c.LocalAttention < 1 || c.GlobalEvery < 1:
		return fmt.Errorf("config.json: local_attention %d and global_attn_every_n_layers %d must be positive",
			c.LocalAttention, c.GlobalEvery)
	case !slices.Contains([]string{"cls", "mean"}, c.ClassifierPooling):
		return fmt.Errorf("config.json: classifier_pooling %q is not supported, only cls and mean", c.ClassifierPooling)
	}
	return nil
}

// modernClassifier is the head of ModernBertForSequenceClassification: pooling, a dense layer with GELU and layer
// normalization, and a projection to the logit.
func modernClassifier(n *network, states string) string {
	size := n.folder.HiddenSize
	pooled := n.reshape(n.poolTokens(states, n.mask, n.folder.ClassifierPooling), 0, -1)
	hidden := n.layerNorm(gelu(n.graph, n.layerLinear(pooled, "head.dense", size, size)), "head.norm")
	return n.linear(hidden, "classifier", size, 1)
}
