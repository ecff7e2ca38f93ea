package modelimport

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// The keys of NomicBERT's original code and those of transformers give the same graph.
func TestNomicKeys(t *testing.T) {
	first, err := importTiny(t, newTinyNomic().write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := newTinyNomic()
	f.config = map[string]any{
		"model_type":              "nomic_bert",
		"vocab_size":              8,
		"hidden_size":             4,
		"num_hidden_layers":       1,
		"num_attention_heads":     1,
		"head_dim":                4,
		"intermediate_size":       8,
		"hidden_act":              "silu",
		"layer_norm_eps":          1e-12,
		"max_position_embeddings": 32,
		"type_vocab_size":         2,
		"rope_parameters":         map[string]any{"rope_type": "default", "rope_theta": 1000},
	}
	second, err := importTiny(t, f.write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(readGraph(t, first), readGraph(t, second)) {
		t.Error("the graphs differ")
	}
	other := newTinyNomic()
	other.config["rotary_emb_base"] = 2000
	third, err := importTiny(t, other.write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if proto.Equal(readGraph(t, first), readGraph(t, third)) {
		t.Error("rotary_emb_base has no effect")
	}
}

// The keys of transformers 4 and those of transformers 5 give the same graph, and each key has an effect.
func TestModernKeys(t *testing.T) {
	graph := func(change func(map[string]any)) proto.Message {
		f := newTinyModern()
		change(f.config)
		result, err := importTiny(t, f.write(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return readGraph(t, result)
	}
	published := graph(func(map[string]any) {})
	same := graph(func(c map[string]any) {
		for _, key := range []string{"global_attn_every_n_layers", "global_rope_theta", "local_rope_theta"} {
			delete(c, key)
		}
		c["layer_types"] = []string{fullAttention, slidingAttention}
		c["rope_parameters"] = map[string]any{
			fullAttention:    map[string]any{"rope_type": "default", "rope_theta": 160000},
			slidingAttention: map[string]any{"rope_type": "default", "rope_theta": 10000},
		}
	})
	if !proto.Equal(published, same) {
		t.Error("the graphs differ")
	}
	withoutLocal := graph(func(c map[string]any) { c["local_rope_theta"] = nil })
	if !proto.Equal(withoutLocal, graph(func(c map[string]any) { c["local_rope_theta"] = 160000 })) {
		t.Error("local_rope_theta null is not global_rope_theta")
	}
	for key, value := range map[string]any{
		"global_attn_every_n_layers": 1, "local_attention": 6, "global_rope_theta": 9, "local_rope_theta": 9,
		"layer_types": []string{slidingAttention, fullAttention},
	} {
		if proto.Equal(published, graph(func(c map[string]any) { c[key] = value })) {
			t.Errorf("%s has no effect", key)
		}
	}
}

func TestModernRefuses(t *testing.T) {
	for key, c := range map[string]struct {
		value any
		want  string
	}{
		"attention_bias":     {true, "attention_bias true is not supported, only false"},
		"norm_bias":          {true, "norm_bias true is not supported, only false"},
		"mlp_bias":           {true, "mlp_bias true is not supported, only false"},
		"rope_scaling":       {"x", "rope_scaling x is not supported"},
		"hidden_activation":  {"mish", `hidden_activation "mish"`},
		"norm_eps":           {0, "norm_eps 0"},
		"classifier_pooling": {"max", `classifier_pooling "max"`},
		"layer_types":        {[]string{fullAttention}, "layer_types [full_attention]"},
		"local_attention":    {-1, "local_attention -1"},
		"rope_parameters": {
			map[string]any{slidingAttention: map[string]any{"rope_type": "linear"}}, `rope_type "linear"`,
		},
	} {
		t.Run(key, func(t *testing.T) {
			f := newTinyModern()
			f.config[key] = c.value
			_, err := importTiny(t, f.write(t), Options{})
			if err == nil || !strings.Contains(err.Error(), "config.json: ") || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// Settings and tensors that the graph would ignore are refused.
func TestNomicRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*tiny)
		want   string
	}{
		"causal":                  {func(f *tiny) { f.config["causal"] = true }, "config.json: causal true"},
		"pre-norm":                {func(f *tiny) { f.config["prenorm"] = true }, "config.json: prenorm true"},
		"experts":                 {func(f *tiny) { f.config["num_experts"] = 8 }, "config.json: num_experts 8"},
		"partial rotation":        {func(f *tiny) { f.config["rotary_emb_fraction"] = 0.5 }, "config.json: rotary_emb_fraction 0.5"},
		"scaled angles":           {func(f *tiny) { f.config["rotary_scaling_factor"] = 2 }, "config.json: rotary_scaling_factor 2"},
		"unknown gate activation": {func(f *tiny) { f.config["activation_function"] = "mish" }, `activation_function "mish"`},
		"odd heads":               {func(f *tiny) { f.config["n_head"] = 4 }, "config.json: n_head 4"},
		"other rotation": {
			func(f *tiny) { f.config["rope_parameters"] = map[string]any{"rope_type": "yarn"} }, `rope_type "yarn"`,
		},
		"bias of projections": {
			func(f *tiny) { f.tensors["encoder.layers.0.attn.Wqkv.bias"] = []int64{12} },
			"tensor encoder.layers.0.attn.Wqkv.bias is not supported",
		},
		"bias of the network": {
			func(f *tiny) { f.tensors["encoder.layers.0.mlp.fc2.bias"] = []int64{4} },
			"tensor encoder.layers.0.mlp.fc2.bias is not supported",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTinyNomic()
			c.change(f)
			if _, err := importTiny(t, f.write(t), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}
