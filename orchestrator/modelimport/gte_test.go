package modelimport

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// newTinyGTE returns the folder of a GTE with one layer, with the keys of Alibaba-NLP/new-impl.
func newTinyGTE() *tiny {
	f := newTiny(apiEmbedding)
	f.config = map[string]any{
		"model_type":              "new",
		"architectures":           []string{"NewModel"},
		"vocab_size":              8,
		"hidden_size":             4,
		"num_hidden_layers":       1,
		"num_attention_heads":     1,
		"intermediate_size":       8,
		"hidden_act":              "gelu",
		"layer_norm_type":         "layer_norm",
		"layer_norm_eps":          1e-12,
		"max_position_embeddings": 32,
		"position_embedding_type": "rope",
		"rope_theta":              500000,
		"rope_scaling":            nil,
		"type_vocab_size":         0,
		"pack_qkv":                true,
		"logn_attention_scale":    false,
		"logn_attention_clip1":    false,
	}
	const layer = "encoder.layer.0."
	f.tensors = map[string][]int64{
		"embeddings.word_embeddings.weight": {8, 4},
		layer + "attention.qkv_proj.weight": {12, 4},
		layer + "attention.qkv_proj.bias":   {12},
		layer + "attention.o_proj.weight":   {4, 4},
		layer + "attention.o_proj.bias":     {4},
		layer + "mlp.up_gate_proj.weight":   {16, 4},
		layer + "mlp.down_proj.weight":      {4, 8},
		layer + "mlp.down_proj.bias":        {4},
	}
	for _, norm := range []string{"embeddings.LayerNorm", layer + "attn_ln", layer + "mlp_ln"} {
		f.tensors[norm+".weight"] = []int64{4}
		f.tensors[norm+".bias"] = []int64{4}
	}
	return f
}

// The keys of new-impl and those of transformers give the same graph, and each setting of the rotation has an effect.
func TestGTEKeys(t *testing.T) {
	graph := func(change func(*tiny)) proto.Message {
		f := newTinyGTE()
		change(f)
		result, err := importTiny(t, f.write(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		g := readGraph(t, result)
		g.Name = nil // model_type
		return g
	}
	published := graph(func(*tiny) {})
	same := graph(func(f *tiny) {
		f.config["model_type"] = "gte"
		delete(f.config, "rope_theta")
		delete(f.config, "position_embedding_type")
		f.config["rope_parameters"] = map[string]any{"rope_type": "default", "rope_theta": 500000}
	})
	if !proto.Equal(published, same) {
		t.Error("the graphs differ")
	}
	for key, value := range map[string]any{
		"rope_theta": 10000, "rope_scaling": map[string]any{"type": "ntk", "factor": 2},
	} {
		if proto.Equal(published, graph(func(f *tiny) { f.config[key] = value })) {
			t.Errorf("%s has no effect", key)
		}
	}
	types := graph(func(f *tiny) {
		f.config["type_vocab_size"] = 1
		f.tensors["embeddings.token_type_embeddings.weight"] = []int64{1, 4}
	})
	if proto.Equal(published, types) {
		t.Error("type_vocab_size has no effect")
	}
}

func TestGTERefuses(t *testing.T) {
	type object = map[string]any
	for name, c := range map[string]struct {
		change func(*tiny)
		want   string
	}{
		"RMS norm": {
			func(f *tiny) { f.config["layer_norm_type"] = "rms_norm" }, "config.json: layer_norm_type rms_norm",
		},
		"separate projections": {func(f *tiny) { f.config["pack_qkv"] = false }, "config.json: pack_qkv false"},
		"scaled attention": {
			func(f *tiny) { f.config["logn_attention_scale"] = true }, "config.json: logn_attention_scale true",
		},
		"position table": {
			func(f *tiny) { f.config["position_embedding_type"] = "absolute" },
			`config.json: position_embedding_type "absolute" is not supported, only rope`,
		},
		"no base": {func(f *tiny) { delete(f.config, "rope_theta") }, "config.json: rope_theta is missing"},
		"base 0":  {func(f *tiny) { f.config["rope_theta"] = 0 }, "config.json: rope_theta 0 must be positive"},
		"other scaling": {
			func(f *tiny) { f.config["rope_scaling"] = object{"type": "linear", "factor": 2} },
			"config.json: rope_scaling map[factor:2 type:linear] is not supported",
		},
		"mixed scaling": {
			func(f *tiny) { f.config["rope_scaling"] = object{"type": "ntk", "factor": 2, "mixed_b": 0.6} },
			"config.json: rope_scaling map[",
		},
		"shrinking": {
			func(f *tiny) { f.config["rope_scaling"] = object{"type": "ntk", "factor": 0.5} },
			"config.json: rope_scaling map[",
		},
		"scaling as text": {
			func(f *tiny) { f.config["rope_scaling"] = "ntk" }, "config.json: rope_scaling ntk",
		},
		"unused table of token types": {
			func(f *tiny) { f.tensors["embeddings.token_type_embeddings.weight"] = []int64{2, 4} },
			"tensor embeddings.token_type_embeddings.weight is not supported",
		},
		"negative token types": {
			func(f *tiny) { f.config["type_vocab_size"] = -1 }, "config.json: type_vocab_size -1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTinyGTE()
			c.change(f)
			if _, err := importTiny(t, f.write(t), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}
