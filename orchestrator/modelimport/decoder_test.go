package modelimport

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
)

// A folder of a decoder that cannot be served as intended is refused with the file and the key.
func TestDecodersRefuse(t *testing.T) {
	type object = map[string]any
	const layer = "layers.0."
	scaled := func(scaling object) func(*tiny, *Options) {
		return func(f *tiny, _ *Options) { f.config["rope_scaling"] = scaling }
	}
	config := func(key string, value any) func(*tiny, *Options) {
		return func(f *tiny, _ *Options) { f.config[key] = value }
	}
	llama3 := object{
		"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
		"original_max_position_embeddings": 8,
	}
	without := func(key string) object {
		scaling := object{}
		for k, v := range llama3 {
			if k != key {
				scaling[k] = v
			}
		}
		return scaling
	}
	template := "{query} {passage}"
	for name, c := range map[string]struct {
		modelType, api string
		change         func(*tiny, *Options)
		want           string
	}{
		"yarn":          {"qwen3", "", scaled(object{"rope_type": "yarn", "factor": 4}), `rope_type "yarn"`},
		"dynamic":       {"llama", "", scaled(object{"type": "dynamic", "factor": 4}), `rope_type "dynamic"`},
		"no factor":     {"llama", "", scaled(without("factor")), "factor 0 must be at least 1"},
		"no low factor": {"llama", "", scaled(without("low_freq_factor")), "low_freq_factor 0"},
		"no old length": {
			"llama", "", scaled(without("original_max_position_embeddings")), "original_max_position_embeddings 0",
		},
		"base 0":          {"llama", "", config("rope_theta", 0), "config.json: rope_theta 0 must be positive"},
		"half rotary":     {"llama", "", config("partial_rotary_factor", 0.5), "config.json: partial_rotary_factor 0.5"},
		"groups":          {"llama", "", config("num_key_value_heads", 3), "is not a multiple of num_key_value_heads 3"},
		"negative groups": {"llama", "", config("num_key_value_heads", -2), "num_key_value_heads -2"},
		"no heads":        {"llama", "", config("num_attention_heads", 0), "num_attention_heads 0 must be positive"},
		"odd heads":       {"llama", "", config("head_dim", 3), "heads have the odd size 3"},
		"huge heads":      {"llama", "", config("head_dim", 1<<62+2), "head_dim 4611686018427387906 must be at most"},
		"large heads":     {"llama", "", config("head_dim", 1<<16), "self_attn.q_proj.weight has shape [8 4]"},
		"few layers":      {"llama", "", config("num_hidden_layers", 2), "no tensor layers.1."},
		"huge layers":     {"llama", "", config("num_hidden_layers", 1<<60), "num_hidden_layers 1152921504606846976 must be from 1 to 4096"},
		"no norm":         {"llama", "", config("rms_norm_eps", 0), "config.json: rms_norm_eps 0"},
		"unknown gate":    {"llama", "", config("hidden_act", "mish"), `config.json: hidden_act "mish"`},
		"biases missing":  {"llama", "", config("attention_bias", true), "no tensor layers.0.self_attn.q_proj.bias"},
		"biases unread": {
			"llama", "", func(f *tiny, _ *Options) { f.tensors[layer+"self_attn.q_proj.bias"] = []int64{8} },
			"self_attn.q_proj.bias",
		},
		"softcapping": {"gemma3_text", "", config("attn_logit_softcapping", 50), "config.json: attn_logit_softcapping 50"},
		"no scalar":   {"gemma3_text", "", config("query_pre_attn_scalar", 0), "config.json: query_pre_attn_scalar 0"},
		"no window":   {"gemma3_text", "", config("sliding_window", 0), "config.json: sliding_window must be positive"},
		"no pattern":  {"gemma3_text", "", config("sliding_window_pattern", 0), "sliding_window_pattern 0"},
		"layer types": {
			"gemma3_text", "", config("layer_types", []string{"chunked_attention"}), `layer_types "chunked_attention"`,
		},
		"layers' count": {
			"qwen3", "", config("layer_types", []string{fullAttention, fullAttention}), "layer_types has 2 layers",
		},
		"windows of Llama": {
			"llama", "", config("layer_types", []string{slidingAttention}), "layer_types sliding_attention",
		},
		"unknown family": {
			"llama", "", func(f *tiny, _ *Options) {
				f.config["model_type"] = "custom"
				f.config["auto_map"] = object{"AutoModel": "modeling_custom.Model"}
			}, `config.json: model_type "custom"`,
		},
		"no template": {"llama", apiRanking, func(_ *tiny, o *Options) { o.PairTemplate = nil }, "--pair-template"},
		"template of an embedding": {
			"llama", "", func(_ *tiny, o *Options) { o.PairTemplate = &template }, "pair-template",
		},
		"no score": {
			"llama", apiRanking, func(f *tiny, _ *Options) { delete(f.tensors, "score.weight") }, "no score.weight",
		},
		"two scores": {
			"llama", apiRanking, func(f *tiny, _ *Options) { f.tensors["score.weight"] = []int64{2, 4} },
			"score.weight has 2 labels",
		},
		"two labels": {
			"qwen3", apiRanking, config("id2label", object{"0": "no", "1": "yes"}), "config.json: id2label has 2 labels",
		},
		"pooling": {"llama_bidirec", apiRanking, config("pooling", "max"), `config.json: pooling "max"`},
		"no yes": {
			"qwen3", apiRanking, func(f *tiny, _ *Options) {
				delete(f.tensors, "score.weight")
				f.config["architectures"] = []string{"Qwen3ForCausalLM"}
			}, `tokenizer.json: the vocabulary has no token "yes"`,
		},
	} {
		f := newTinyLlama(c.modelType, c.api)
		o := Options{API: c.api}
		if c.api == apiRanking {
			o.PairTemplate = &template
		}
		c.change(f, &o)
		o.Repository = filepath.Join(t.TempDir(), "repository")
		_, err := importTiny(t, f.write(t), o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
		if left, _ := filepath.Glob(filepath.Join(o.Repository, "*")); len(left) > 0 {
			t.Errorf("%s: %v was left", name, left)
		}
	}
}

// decoderTypes are the model types of decoders.
var decoderTypes = []string{"qwen2", "qwen3", "gemma3_text", "mistral", "llama", "llama_bidirec"}

// Weights in two files and in bfloat16 give the graph of one file in 32 bits. The numbers are exact in both. A shard
// that is missing is named.
func TestShardsOfBFloat16(t *testing.T) {
	for _, modelType := range decoderTypes {
		f := newTinyLlama(modelType, apiEmbedding)
		one, err := importTiny(t, f.write(t), Options{Precision: precisionFP32})
		if err != nil {
			t.Errorf("%s: %v", modelType, err)
			continue
		}
		f.dtype = "BF16"
		dir := shard(t, f)
		two, err := importTiny(t, dir, Options{Precision: precisionFP32})
		if err != nil {
			t.Errorf("%s: %v", modelType, err)
			continue
		}
		if !proto.Equal(readGraph(t, one), readGraph(t, two)) {
			t.Errorf("%s: the graphs differ", modelType)
		}
		const last = "model-00002-of-00002.safetensors"
		if err := os.Remove(filepath.Join(dir, last)); err != nil {
			t.Fatal(err)
		}
		if _, err := importTiny(t, dir, Options{}); err == nil || !strings.Contains(err.Error(), last) {
			t.Errorf("%s: error %v, want %s in it", modelType, err, last)
		}
	}
}

// shard writes a folder whose weights are in two files.
func shard(t *testing.T, f *tiny) string {
	t.Helper()
	toJSON := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	all := f.tensors
	defer func() { f.tensors = all }()
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	f.tensors = nil
	dir := f.write(t)
	files := map[string]string{}
	for i, part := range [][]string{names[:len(names)/2], names[len(names)/2:]} {
		file := []string{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}[i]
		f.tensors = map[string][]int64{}
		for _, name := range part {
			f.tensors[name] = all[name]
			files[name] = file
		}
		if err := os.WriteFile(filepath.Join(dir, file), f.weights(toJSON), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	index := toJSON(map[string]any{"metadata": map[string]any{}, "weight_map": files})
	if err := os.WriteFile(filepath.Join(dir, tensorsIndex), index, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// The head of a causal language model is not stored, and each setting of a decoder has an effect on the graph.
func TestDecoderKeys(t *testing.T) {
	graph := func(modelType string, change func(*tiny)) proto.Message {
		f := newTinyLlama(modelType, apiEmbedding)
		change(f)
		result, err := importTiny(t, f.write(t), Options{})
		if err != nil {
			t.Fatalf("%s: %v", modelType, err)
		}
		return readGraph(t, result)
	}
	same := func(*tiny) {}
	plain := graph("qwen3", same)
	if !proto.Equal(plain, graph("qwen3", func(f *tiny) { f.tensors["lm_head.weight"] = []int64{8, 4} })) {
		t.Error("lm_head.weight has an effect on an embedding")
	}
	type object = map[string]any
	for name, c := range map[string]struct {
		modelType string
		set       object
		equal     bool
	}{
		"is_causal":               {"qwen2", object{"is_causal": false}, false},
		"window that is not used": {"qwen2", object{"sliding_window": 3, "use_sliding_window": false}, true},
		"window": {
			"qwen2", object{"sliding_window": 3, "use_sliding_window": true, "max_window_layers": 0}, false,
		},
		"window of later layers": {
			"qwen2", object{"sliding_window": 3, "use_sliding_window": true, "max_window_layers": 1}, true,
		},
		"window of Mistral":    {"mistral", object{"sliding_window": 3}, false},
		"no window of Mistral": {"mistral", object{"sliding_window": nil}, true},
		"base":                 {"llama", object{"rope_theta": 500000}, false},
		"base in rope_parameters": {
			"llama", object{"rope_parameters": object{"rope_type": "default", "rope_theta": 500000}}, false,
		},
		"local base":            {"gemma3_text", object{"rope_local_base_freq": 9}, false},
		"base of global layers": {"gemma3_text", object{"rope_theta": 9}, true},
		"scalar":                {"gemma3_text", object{"query_pre_attn_scalar": 3}, false},
		"bidirectional":         {"gemma3_text", object{"use_bidirectional_attention": true}, false},
		"scaling":               {"llama", object{"rope_scaling": object{"type": "linear", "factor": 2}}, false},
		"no scaling":            {"llama", object{"rope_scaling": nil}, true},
		"eps":                   {"llama", object{"rms_norm_eps": 1e-5}, false},
	} {
		changed := graph(c.modelType, func(f *tiny) {
			for key, value := range c.set {
				f.config[key] = value
			}
		})
		if proto.Equal(graph(c.modelType, same), changed) != c.equal {
			t.Errorf("%s of %s: graphs are equal is %t, want %t", name, c.modelType, !c.equal, c.equal)
		}
	}
}

// The frequencies of Llama 3's scaling: high ones are kept, low ones divided by factor, those between interpolated.
func TestLlama3Frequencies(t *testing.T) {
	r := rope{Type: "llama3", Theta: 10_000, Factor: 8, LowFactor: 1, HighFactor: 4, Original: 64}
	plain := rope{Theta: 10_000}.frequencies(16)
	scaled := r.frequencies(16)
	for i, f := range plain {
		turns := 64 * float64(f) / (2 * math.Pi)
		want := float64(f)
		switch {
		case turns < 1:
			want /= 8
		case turns < 4:
			smooth := (turns - 1) / 3
			want = want/8*(1-smooth) + want*smooth
		}
		if math.Abs(float64(scaled[i])-want) > 1e-7*want {
			t.Errorf("frequency %d is %g, want %g", i, scaled[i], want)
		}
	}
	if scaled[0] != plain[0] || scaled[7] != plain[7]/8 {
		t.Errorf("the first is %g of %g, the last %g of %g", scaled[0], plain[0], scaled[7], plain[7])
	}
}
