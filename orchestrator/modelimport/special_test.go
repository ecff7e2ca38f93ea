package modelimport

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"retort/tokenizers"
)

// newTinyLlama returns the folder of a decoder with one layer, whose keys and tensors are those of a model type.
func newTinyLlama(modelType, api string) *tiny {
	f := newTiny(apiEmbedding)
	f.config = map[string]any{
		"model_type":              modelType,
		"architectures":           []string{"Model"},
		"vocab_size":              8,
		"hidden_size":             4,
		"num_hidden_layers":       1,
		"num_attention_heads":     2,
		"num_key_value_heads":     1,
		"head_dim":                4,
		"intermediate_size":       8,
		"hidden_act":              "silu",
		"rms_norm_eps":            1e-6,
		"max_position_embeddings": 64,
	}
	const layer = "layers.0."
	f.tensors = map[string][]int64{
		"embed_tokens.weight":                     {8, 4},
		"norm.weight":                             {4},
		layer + "input_layernorm.weight":          {4},
		layer + "post_attention_layernorm.weight": {4},
		layer + "self_attn.q_proj.weight":         {8, 4},
		layer + "self_attn.k_proj.weight":         {4, 4},
		layer + "self_attn.v_proj.weight":         {4, 4},
		layer + "self_attn.o_proj.weight":         {4, 8},
		layer + "mlp.gate_proj.weight":            {8, 4},
		layer + "mlp.up_proj.weight":              {8, 4},
		layer + "mlp.down_proj.weight":            {4, 8},
	}
	switch modelType {
	case "qwen2":
		f.tensors[layer+"self_attn.q_proj.bias"] = []int64{8}
		f.tensors[layer+"self_attn.k_proj.bias"] = []int64{4}
		f.tensors[layer+"self_attn.v_proj.bias"] = []int64{4}
	case "gemma3_text":
		delete(f.config, "hidden_act")
		f.config["hidden_activation"] = "gelu_pytorch_tanh"
		f.config["query_pre_attn_scalar"] = 2
		f.config["sliding_window"] = 4
		f.tensors[layer+"pre_feedforward_layernorm.weight"] = []int64{4}
		f.tensors[layer+"post_feedforward_layernorm.weight"] = []int64{4}
	}
	if modelType == "qwen3" || modelType == "gemma3_text" {
		f.tensors[layer+"self_attn.q_norm.weight"] = []int64{4}
		f.tensors[layer+"self_attn.k_norm.weight"] = []int64{4}
	}
	if api == apiRanking {
		for _, name := range slices.Collect(maps.Keys(f.tensors)) {
			f.tensors["model."+name] = f.tensors[name]
			delete(f.tensors, name)
		}
		f.tensors["score.weight"] = []int64{1, 4}
		f.files = map[string]any{}
	}
	return f
}

// useProcessor replaces the post-processor of a folder, and adds the tokens [CLS] and [SEP].
func (f *tiny) useProcessor(processor string) {
	f.tokenizer = strings.Replace(f.tokenizer,
		`{"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}`, processor, 1)
	f.addTokens(2, "[CLS]", 3, "[SEP]")
}

// addTokens gives the tokenizer special tokens, from pairs of an id and a name.
func (f *tiny) addTokens(pairs ...any) {
	var tokens []string
	for i := 0; i < len(pairs); i += 2 {
		tokens = append(tokens, fmt.Sprintf(`{"id": %d, "content": %q, "single_word": false, "lstrip": false,
			"rstrip": false, "normalized": false, "special": true}`, pairs[i], pairs[i+1]))
	}
	f.tokenizer = strings.Replace(f.tokenizer, `"added_tokens": [`, `"added_tokens": [`+strings.Join(tokens, ","), 1)
}

// The flags of tokenizer_config.json add the special tokens that tokenizer.json lacks, and remove none.
func TestEndsOfTexts(t *testing.T) {
	type object = map[string]any
	const begin = `{"type": "TemplateProcessing",
		"single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
		"pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
		"special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}}}`
	for name, c := range map[string]struct {
		processor string
		flags     object
		text      []int32 // of "a"
		pair      []int32 // of "a" and "retort"
	}{
		"no flags":     {begin, object{}, []int32{2, 4}, []int32{4, 5}},
		"not removed":  {begin, object{"add_bos_token": false, "add_eos_token": false}, []int32{2, 4}, []int32{4, 5}},
		"end":          {begin, object{"add_eos_token": true}, []int32{2, 4, 3}, []int32{2, 4, 3, 2, 5, 3}},
		"no processor": {"null", object{"add_eos_token": true}, []int32{4, 3}, []int32{4, 3, 5, 3}},
		"begin":        {"null", object{"add_bos_token": true}, []int32{2, 4}, []int32{2, 4, 2, 5}},
		"both": {
			"null", object{"add_bos_token": true, "add_eos_token": true},
			[]int32{2, 4, 3}, []int32{2, 4, 3, 2, 5, 3},
		},
		"present already": {begin, object{"add_bos_token": true}, []int32{2, 4}, []int32{4, 5}},
	} {
		f := newTinyLlama("mistral", apiEmbedding)
		f.useProcessor(c.processor)
		flags := object{"bos_token": object{"content": "[CLS]"}, "eos_token": "[SEP]"}
		maps.Copy(flags, c.flags)
		f.files["tokenizer_config.json"] = flags
		result, err := importTiny(t, f.write(t), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tokenizer := loadTokenizer(t, result)
		if row, err := tokenizer.Encode("a", tokenizers.Options{}); err != nil || !slices.Equal(row.IDs, c.text) {
			t.Errorf("%s: text has ids %v, want %v, %v", name, row, c.text, err)
		}
		if row, err := tokenizer.EncodePair("a", "retort", tokenizers.Options{}); err != nil ||
			!slices.Equal(row.IDs, c.pair) {
			t.Errorf("%s: pair has ids %v, want %v, %v", name, row, c.pair, err)
		}
	}
}

// With the tokenizers of decoders, the ids are those of the Hugging Face tokenizers library with the TemplateProcessing
// of LlamaTokenizerFast. scripts/golden/decoder_tokens.py writes them.
func TestEndsEqualTokenizersLibrary(t *testing.T) {
	file, err := os.ReadFile("testdata/ends.json")
	if err != nil {
		t.Fatal(err)
	}
	type flags struct {
		Begin    string `json:"bos_token"`
		End      string `json:"eos_token"`
		AddBegin bool   `json:"add_bos_token"`
		AddEnd   bool   `json:"add_eos_token"`
	}
	var rows []struct {
		flags
		Tokenizer string  `json:"tokenizer"`
		Text      string  `json:"text"`
		MaxLength int     `json:"max_length"`
		IDs       []int32 `json:"ids"`
	}
	if err := json.Unmarshal(file, &rows); err != nil || len(rows) == 0 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	type source struct {
		name  string
		flags flags
	}
	known := map[source]*tokenizers.Tokenizer{}
	for _, row := range rows {
		from := source{row.Tokenizer, row.flags}
		tokenizer := known[from]
		if tokenizer == nil {
			tokenizer = importTokenizer(t, row.Tokenizer, row.flags)
			known[from] = tokenizer
		}
		options := tokenizers.Options{MaxLength: row.MaxLength, Strategy: tokenizers.OnlyFirst}
		got, err := tokenizer.Encode(row.Text, options)
		if err != nil || !slices.Equal(got.IDs, row.IDs) {
			t.Errorf("%v, %q: %v, %v, want %v", from, row.Text, got, err, row.IDs)
		}
	}
}

// importTokenizer imports a model with a tokenizer of the test data of package tokenizers, and returns that of the
// entry. flags are members of tokenizer_config.json.
func importTokenizer(t *testing.T, name string, flags any) *tokenizers.Tokenizer {
	t.Helper()
	packed, err := os.Open(filepath.Join("..", "..", "tokenizers", "testdata", name, "tokenizer.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	const vocabulary = 2600 // more than any of the tokenizers has
	f := newTinyLlama("mistral", apiEmbedding)
	f.tokenizer = string(text)
	f.config["vocab_size"] = vocabulary
	f.tensors["embed_tokens.weight"] = []int64{vocabulary, 4}
	f.files["tokenizer_config.json"] = flags
	result, err := importTiny(t, f.write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return loadTokenizer(t, result)
}

// Flags that do not fit the tokenizer are refused with the key.
func TestWrongEndsOfTexts(t *testing.T) {
	type object = map[string]any
	for name, c := range map[string]struct {
		processor string
		flags     object
		want      string
	}{
		"unknown token": {
			"null", object{"add_eos_token": true, "eos_token": "[END]"}, `add_eos_token is set, but added_tokens has no "[END]"`,
		},
		"no name": {
			"null", object{"add_bos_token": true, "bos_token": nil}, `add_bos_token is set, but added_tokens has no ""`,
		},
		"other tokens": {
			`{"type": "BertProcessing", "sep": ["[PAD]", 0], "cls": ["[UNK]", 1]}`,
			object{"add_eos_token": true, "eos_token": "[SEP]"}, "do not fit the post_processor",
		},
	} {
		f := newTinyLlama("mistral", apiEmbedding)
		f.useProcessor(c.processor)
		f.files["tokenizer_config.json"] = c.flags
		_, err := importTiny(t, f.write(t), Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "tokenizer_config.json") {
			t.Errorf("%s: error %v, want tokenizer_config.json and %q in it", name, err, c.want)
		}
	}
}

// A token of Gemma beyond the word table is dropped with a note; in other families the folder is refused.
func TestTokensBeyondTable(t *testing.T) {
	f := newTinyLlama("gemma3_text", apiEmbedding)
	f.addTokens(8, "image_soft_token")
	result, err := importTiny(t, f.write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(result.Notes, func(n string) bool {
		return strings.Contains(n, "image_soft_token") && strings.Contains(n, "vocab_size 8")
	}) {
		t.Errorf("notes %q do not name the token", result.Notes)
	}
	row, err := loadTokenizer(t, result).Encode("a image_soft_token", tokenizers.Options{})
	if err != nil || slices.Max(row.IDs) > 7 {
		t.Errorf("ids %v, %v", row, err)
	}
	other := newTinyLlama("llama", apiEmbedding)
	other.addTokens(8, "image_soft_token")
	if _, err := importTiny(t, other.write(t), Options{}); err == nil || !strings.Contains(err.Error(), "vocab_size") {
		t.Errorf("error %v, want vocab_size in it", err)
	}
}

func loadTokenizer(t *testing.T, result *Result) *tokenizers.Tokenizer {
	t.Helper()
	tokenizer, err := tokenizers.Load(filepath.Join(result.Dir, "tokenizer.json"))
	if err != nil {
		t.Fatal(err)
	}
	return tokenizer
}
