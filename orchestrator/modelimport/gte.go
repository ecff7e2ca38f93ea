package modelimport

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// gte is GTE v1.5 (arXiv:2407.19669; modeling.py of Alibaba-NLP/new-impl, models/gte of transformers): BERT with rotary
// positions and gated linear units, whose projections are stacked in one tensor each.
var gte = &family{
	aliases:      map[string]string{"rotary_emb_base": "rope_theta"},
	positionType: "rope", check: (*folder).readNTK,
	fixed: map[string]any{
		"layer_norm_type": "layer_norm", "pack_qkv": true, "logn_attention_scale": false, "logn_attention_clip1": false,
	},

	wordTable: bertWords, embeddingNorm: bertNorm,
	layerPrefix: "encoder.layer",
	names: layerNames{
		qkv: "attention.qkv_proj", attentionOut: "attention.o_proj", attentionNorm: "attn_ln",
		upGate: "mlp.up_gate_proj", down: "mlp.down_proj", feedForwardNorm: "mlp_ln",
	},
	tokenTypes: true, noTypes: true, typesFromInput: true, rotary: true,
	ropeBase: func(c *modelConfig, _ int) float64 {
		return cmp.Or(c.Rope.Theta, c.RotaryBase) * cmp.Or(c.ntkFactor, 1)
	},
	classify: bertClassifier,
}

// readNTK sets ntkFactor, the factor f of rope_scaling. NTK-aware scaling multiplies the base of the frequencies by f
// and divides the frequencies by f^(2/d) for heads of size d (NTKScalingRotaryEmbedding of new-impl).
func (f *folder) readNTK() error {
	if cmp.Or(f.Rope.Theta, f.RotaryBase) == 0 {
		return cmp.Or(f.checkRope(), errors.New("config.json: rope_theta is missing"))
	}
	value := f.config["rope_scaling"]
	if value == nil {
		return nil
	}
	scaling, _ := value.(map[string]any)
	factor, _ := scaling["factor"].(float64)
	if scaling["type"] != "ntk" || scaling["mixed_b"] != nil || factor < 1 || math.IsInf(factor, 0) {
		return fmt.Errorf("config.json: rope_scaling %v is not supported, only type ntk with a factor from 1", value)
	}
	f.ntkFactor = factor
	return nil
}

// ntkDivisor returns what the frequencies of rotary embeddings are divided by.
func (f *folder) ntkDivisor() float32 {
	headSize := f.HiddenSize / f.Heads
	return float32(math.Pow(cmp.Or(f.ntkFactor, 1), 2/float64(headSize)))
}
