package modelimport

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"retort/orchestrator/triton"
)

// tiny is the folder of a published BERT with one layer. A test changes it, then calls write.
type tiny struct {
	config    map[string]any
	files     map[string]any // JSON by name
	tokenizer string
	tensors   map[string][]int64
	dtype     string
}

const vocabulary = `"[PAD]":0,"[UNK]":1,"[CLS]":2,"[SEP]":3,"a":4,"retort":5,"is":6,"##s":7`

const tokenizerText = `{
	"version": "1.0",
	"truncation": {"max_length": 3, "strategy": "LongestFirst", "stride": 0, "direction": "Right"},
	"padding": null,
	"added_tokens": [],
	"normalizer": {
		"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
		"lowercase":true
	},
	"pre_tokenizer": {"type": "BertPreTokenizer"},
	"post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
	"decoder": null,
	"model": {
		"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
		"vocab": {` + vocabulary + `}
	}
}`

func newTiny(api string) *tiny {
	f := &tiny{
		dtype: "F32", tokenizer: tokenizerText, files: map[string]any{},
		config: map[string]any{
			"model_type":              "bert",
			"architectures":           []string{"BertModel"},
			"vocab_size":              8,
			"hidden_size":             4,
			"num_hidden_layers":       1,
			"num_attention_heads":     2,
			"intermediate_size":       8,
			"hidden_act":              "gelu",
			"layer_norm_eps":          1e-12,
			"max_position_embeddings": 32,
			"type_vocab_size":         2,
			"pad_token_id":            0,
		},
		tensors: map[string][]int64{
			"embeddings.word_embeddings.weight":       {8, 4},
			"embeddings.position_embeddings.weight":   {32, 4},
			"embeddings.token_type_embeddings.weight": {2, 4},
		},
	}
	linear := func(name string, in, out int64) {
		f.tensors[name+".weight"] = []int64{out, in}
		f.tensors[name+".bias"] = []int64{out}
	}
	norm := func(name string) {
		f.tensors[name+".weight"] = []int64{4}
		f.tensors[name+".bias"] = []int64{4}
	}
	norm("embeddings.LayerNorm")
	const layer = "encoder.layer.0."
	for _, name := range []string{"self.query", "self.key", "self.value", "output.dense"} {
		linear(layer+"attention."+name, 4, 4)
	}
	norm(layer + "attention.output.LayerNorm")
	linear(layer+"intermediate.dense", 4, 8)
	linear(layer+"output.dense", 8, 4)
	norm(layer + "output.LayerNorm")
	if api == apiRanking {
		linear("pooler.dense", 4, 4)
		linear("classifier", 4, 1)
	} else {
		f.files["modules.json"] = []map[string]any{
			{"path": "", "type": "sentence_transformers.models.Transformer"},
			{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
		}
		f.files["1_Pooling/config.json"] = map[string]any{
			"pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
		}
	}
	return f
}

// write creates the folder.
func (f *tiny) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, data []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	toJSON := func(v any) []byte {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	put("config.json", toJSON(f.config))
	if f.tokenizer != "" {
		put("tokenizer.json", []byte(f.tokenizer))
	}
	for name, content := range f.files {
		put(name, toJSON(content))
	}
	if f.tensors != nil {
		put("model.safetensors", f.weights(toJSON))
	}
	return dir
}

// weights returns the content of model.safetensors. The numbers of a tensor are 0, 1/8, …, 6/8, repeated.
func (f *tiny) weights(toJSON func(any) []byte) []byte {
	header := map[string]any{"__metadata__": map[string]string{"format": "pt"}}
	var data []byte
	for _, name := range slices.Sorted(maps.Keys(f.tensors)) {
		elements := int64(1)
		for _, d := range f.tensors[name] {
			elements *= d
		}
		start := len(data)
		for i := range elements {
			bits := math.Float32bits(float32(i%7) / 8)
			if f.dtype == "BF16" {
				data = binary.LittleEndian.AppendUint16(data, uint16(bits>>16))
			} else {
				data = binary.LittleEndian.AppendUint32(data, bits)
			}
		}
		header[name] = map[string]any{
			"dtype": f.dtype, "shape": f.tensors[name], "data_offsets": []int{start, len(data)},
		}
	}
	text := toJSON(header)
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...), data...)
}

// importTiny imports a folder as an embedding into a new repository, unless o says otherwise.
func importTiny(t *testing.T, dir string, o Options) (*Result, error) {
	t.Helper()
	o.Folder = dir
	o.ID = "tests/Tiny-Model.v1"
	o.Now = time.Unix(1795219200, 0)
	if o.Repository == "" {
		o.Repository = filepath.Join(t.TempDir(), "repository")
	}
	if o.API == "" {
		o.API = apiEmbedding
	}
	opened := 0
	o.Open = func(m *triton.Model) error {
		opened++
		if m.Name != "tiny_model_v1" || m.Dir == "" || len(m.Outputs) != 1 || len(m.Outputs[0].Shape) != 2 {
			return fmt.Errorf("unexpected model %+v", m)
		}
		return nil
	}
	result, err := Import(o)
	if err == nil && opened != 1 {
		t.Errorf("the entry was opened %d times, want 1", opened)
	}
	return result, err
}

// newTinyNomic returns the folder of a NomicBERT with one layer, with the keys of the original code.
func newTinyNomic() *tiny {
	f := newTiny(apiEmbedding)
	f.config = map[string]any{
		"model_type":             "nomic_bert",
		"architectures":          []string{"NomicBertModel"},
		"vocab_size":             8,
		"n_embd":                 4,
		"n_layer":                1,
		"n_head":                 1,
		"n_inner":                8,
		"n_positions":            32,
		"activation_function":    "swiglu",
		"layer_norm_epsilon":     1e-12,
		"type_vocab_size":        2,
		"causal":                 false,
		"prenorm":                false,
		"qkv_proj_bias":          false,
		"rotary_emb_base":        1000,
		"rotary_emb_fraction":    1.0,
		"rotary_scaling_factor":  nil,
		"rotary_emb_interleaved": false,
	}
	const layer = "encoder.layers.0."
	f.tensors = map[string][]int64{
		"embeddings.word_embeddings.weight":       {8, 4},
		"embeddings.token_type_embeddings.weight": {2, 4},
		layer + "attn.Wqkv.weight":                {12, 4},
		layer + "attn.out_proj.weight":            {4, 4},
		layer + "mlp.fc11.weight":                 {8, 4},
		layer + "mlp.fc12.weight":                 {8, 4},
		layer + "mlp.fc2.weight":                  {4, 8},
	}
	for _, norm := range []string{"emb_ln", layer + "norm1", layer + "norm2"} {
		f.tensors[norm+".weight"] = []int64{4}
		f.tensors[norm+".bias"] = []int64{4}
	}
	return f
}

// newTinyModern returns the folder of a ModernBERT with two layers, a global one and a local one.
func newTinyModern() *tiny {
	f := newTiny(apiEmbedding)
	f.config = map[string]any{
		"model_type":                 "modernbert",
		"architectures":              []string{"ModernBertModel"},
		"vocab_size":                 8,
		"hidden_size":                4,
		"num_hidden_layers":          2,
		"num_attention_heads":        1,
		"intermediate_size":          8,
		"hidden_activation":          "gelu",
		"norm_eps":                   1e-5,
		"max_position_embeddings":    32,
		"global_attn_every_n_layers": 3,
		"local_attention":            8,
		"global_rope_theta":          160000,
		"local_rope_theta":           10000,
	}
	f.tensors = map[string][]int64{
		"embeddings.tok_embeddings.weight": {8, 4},
		"embeddings.norm.weight":           {4},
		"layers.1.attn_norm.weight":        {4},
		"final_norm.weight":                {4},
	}
	for _, layer := range []string{"layers.0.", "layers.1."} {
		f.tensors[layer+"attn.Wqkv.weight"] = []int64{12, 4}
		f.tensors[layer+"attn.Wo.weight"] = []int64{4, 4}
		f.tensors[layer+"mlp_norm.weight"] = []int64{4}
		f.tensors[layer+"mlp.Wi.weight"] = []int64{16, 4}
		f.tensors[layer+"mlp.Wo.weight"] = []int64{4, 8}
	}
	return f
}
