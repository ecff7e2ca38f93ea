package modelimport

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// A folder that cannot be served as intended is refused with the file and the key, and leaves no files.
func TestImportRefuses(t *testing.T) {
	config := func(key string, value any) func(*tiny, *Options) {
		return func(f *tiny, _ *Options) { f.config[key] = value }
	}
	file := func(name string, content any) func(*tiny, *Options) {
		return func(f *tiny, _ *Options) { f.files[name] = content }
	}
	tokenizer := func(old, replacement string) func(*tiny, *Options) {
		return func(f *tiny, _ *Options) { f.tokenizer = strings.Replace(f.tokenizer, old, replacement, 1) }
	}
	noTensor := func(name string) func(*tiny, *Options) {
		return func(f *tiny, _ *Options) { delete(f.tensors, name) }
	}
	option := func(set func(*Options)) func(*tiny, *Options) { return func(_ *tiny, o *Options) { set(o) } }
	type object = map[string]any

	modules := func(kinds ...string) func(*tiny, *Options) {
		return func(f *tiny, _ *Options) {
			var list []object
			for i, kind := range kinds {
				path := ""
				if i > 0 {
					path = fmt.Sprintf("%d_%s", i, kind)
				}
				list = append(list, object{"path": path, "type": "sentence_transformers.models." + kind})
			}
			f.files["modules.json"] = list
		}
	}
	denseModule := func(config object) func(*tiny, *Options) {
		return func(f *tiny, o *Options) {
			modules("Transformer", "Pooling", "Dense")(f, o)
			f.files["2_Dense/config.json"] = config
		}
	}

	for name, c := range map[string]struct {
		api    string
		change func(*tiny, *Options)
		want   string
	}{
		"no tokenizer":      {"", func(f *tiny, _ *Options) { f.tokenizer = "" }, "no tokenizer.json"},
		"unknown tokenizer": {"", tokenizer("WordPiece", "WordLevel"), "tokenizer.json: "},
		"larger vocabulary": {"", tokenizer(`"##s":7`, `"##s":7,"b":8`), "vocab_size"},
		"lowercase": {"", func(f *tiny, o *Options) {
			tokenizer(`"lowercase":true`, `"lowercase":false`)(f, o)
			f.files["sentence_bert_config.json"] = object{"do_lower_case": true}
		}, "do_lower_case"},

		"unknown network":    {"", config("model_type", "deberta"), `config.json: model_type "deberta"`},
		"unknown activation": {"", config("hidden_act", "mish"), `config.json: hidden_act "mish"`},
		"relative positions": {
			"", config("position_embedding_type", "relative_key"), "config.json: position_embedding_type",
		},
		"decoder":     {"", config("is_decoder", true), "config.json: is_decoder"},
		"odd heads":   {"", config("num_attention_heads", 3), "num_attention_heads"},
		"broken JSON": {"", config("hidden_size", "wide"), "config.json: "},
		"wrong shape": {
			"", config("intermediate_size", 16), "tensor encoder.layer.0.intermediate.dense.weight has shape [8 4]",
		},
		"DistilBERT's keys": {
			"", func(f *tiny, _ *Options) {
				f.config["model_type"] = "distilbert"
				f.config["dim"] = 6
				f.config["n_heads"] = 4
			},
			"config.json: dim 6 is not a multiple of n_heads 4",
		},
		"MPNet with other padding": {"", config("model_type", "mpnet"), "config.json: pad_token_id 0"},
		"MPNet with other buckets": {
			"", func(f *tiny, _ *Options) {
				f.config["model_type"] = "mpnet"
				f.config["pad_token_id"] = 1
				f.config["relative_attention_num_buckets"] = 64
			},
			"config.json: relative_attention_num_buckets 64",
		},
		"two labels in config.json": {
			apiRanking, config("id2label", object{"0": "no", "1": "yes"}), "config.json: id2label has 2 labels",
		},

		"missing tensor": {
			"", noTensor("encoder.layer.0.output.dense.bias"), "no tensor encoder.layer.0.output.dense.bias",
		},
		"no classifier": {apiRanking, noTensor("classifier.weight"), "no classifier.weight"},
		"three labels in the classifier": {
			apiRanking,
			func(f *tiny, _ *Options) { f.tensors["classifier.weight"] = []int64{3, 4} },
			"classifier.weight has 3 labels",
		},
		"wrong dtype": {"", func(f *tiny, _ *Options) { f.dtype = "I32" }, "dtype I32"},
		"no weights":  {"", func(f *tiny, _ *Options) { f.tensors = nil }, "has no weights"},
		"weights of PyTorch": {"", func(f *tiny, _ *Options) {
			f.tensors = nil
			f.files["pytorch_model.bin"] = 1
		}, "pytorch_model.bin"},

		"unknown module": {"", modules("Transformer", "Pooling", "Dropout"), "modules.json: module 2 is Dropout"},
		"Transformer in another folder": {
			"", file("modules.json", []object{
				{"path": "0_Transformer", "type": "Transformer"}, {"path": "1_Pooling", "type": "Pooling"},
			}),
			`modules.json: module 0 has path "0_Transformer"`,
		},
		"dense after normalization": {
			"", modules("Transformer", "Pooling", "Normalize", "Dense"), "modules.json: module 3 is Dense",
		},
		"dense without files": {"", modules("Transformer", "Pooling", "Dense"), "2_Dense: config.json is missing"},
		"dense without weights": {
			"", denseModule(object{"in_features": 4, "out_features": 3}), "2_Dense has no weights",
		},
		"dense of another size": {
			"", denseModule(object{"in_features": 5, "out_features": 3}), "2_Dense: config.json: in_features 5",
		},
		"dense with another activation": {
			"", denseModule(object{
				"in_features": 4, "out_features": 3, "activation_function": "torch.nn.modules.activation.GELU",
			}), `2_Dense: config.json: activation_function "torch.nn.modules.activation.GELU"`,
		},
		"dense over tokens": {
			"", denseModule(object{"in_features": 4, "out_features": 3, "module_input_name": "token_embeddings"}),
			`2_Dense: config.json: module_input_name "token_embeddings"`,
		},
		"residual dense": {
			"", denseModule(object{"in_features": 4, "out_features": 4, "use_residual": true}),
			"2_Dense: config.json: use_residual",
		},
		"unknown pooling": {
			"",
			file("1_Pooling/config.json", object{"pooling_mode_mean_sqrt_len_tokens": true}),
			"1_Pooling/config.json: pooling_mode [mean_sqrt_len]",
		},
		"two poolings": {
			"",
			file("1_Pooling/config.json", object{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}),
			"1_Pooling/config.json: pooling_mode [cls mean]",
		},
		"two poolings in a list": {
			"",
			file("1_Pooling/config.json", object{"pooling_mode": []string{"weighted", "mean"}}),
			"1_Pooling/config.json: pooling_mode [mean weighted]",
		},
		"no pooling": {"", func(f *tiny, _ *Options) { delete(f.files, "modules.json") }, "--pooling"},
		"prompt for all texts": {
			"",
			file("config_sentence_transformers.json", object{
				"prompts": object{"sts": "x"}, "default_prompt_name": "sts",
			}),
			"default_prompt_name",
		},

		"negative":     {"", option(func(o *Options) { o.MaxLength = -5 }), "max-length -5 must be positive"},
		"too long":     {"", option(func(o *Options) { o.MaxLength = 33 }), "max_position_embeddings for 32"},
		"unknown API":  {"oracle", option(func(*Options) {}), `api "oracle"`},
		"invalid name": {"", option(func(o *Options) { o.Name = "../up" }), `name "../up"`},
		"no graph":     {"", option(func(o *Options) { o.Weights = "onnx" }), "no model.onnx"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTiny(c.api)
			o := Options{API: c.api, Repository: t.TempDir()}
			c.change(f, &o)
			_, err := importTiny(t, f.write(t), o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if left, _ := os.ReadDir(o.Repository); len(left) > 0 {
				t.Errorf("the repository has %v", left)
			}
		})
	}
}

func TestImportReadsFolder(t *testing.T) {
	f := newTiny(apiEmbedding)
	f.files["sentence_bert_config.json"] = map[string]any{"max_seq_length": 20}
	f.files["tokenizer_config.json"] = map[string]any{"model_max_length": 1e30}
	f.files["config_sentence_transformers.json"] = map[string]any{
		"prompts": map[string]string{"query": "find \"this\":\n", "document": "", "sts": "x"},
	}
	result, err := importTiny(t, f.write(t), Options{LeastDimensions: 2})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(result.Dir, "config.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"retort_api":     "embedding",
		"model_id":       "tests/Tiny-Model.v1",
		"owned_by":       "tests",
		"created":        "1795219200",
		"modes":          "two",
		"query_prefix":   "find \"this\":\n",
		"passage_prefix": "",
		"dimensions":     "2-4",
		"pooling":        "mean",
		"max_model_len":  "20",
	} {
		if got := config.Parameters[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	output := config.Outputs[0]
	if config.Name != "tiny_model_v1" || len(config.Inputs) != 3 ||
		output.Name != outputVector || output.Shape[0] != 4 {
		t.Errorf("config.pbtxt is %+v", config)
	}
	if len(result.Notes) != 1 || !strings.Contains(result.Notes[0], "sts") {
		t.Errorf("notes %q, want one about the prompt sts", result.Notes)
	}
	path := filepath.Join(result.Dir, "tokenizer.json")
	if tokenizer, err := tokenizers.Load(path); err != nil || tokenizer.Size() != 8 {
		t.Errorf("the tokenizer does not load, or does not have 8 tokens: %v", err)
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), `"truncation":null`) {
		t.Errorf("the tokenizer still truncates: %v", err)
	}
}

func TestOptionsOverrideFolder(t *testing.T) {
	f := newTiny(apiEmbedding)
	delete(f.files, "modules.json")
	result, err := importTiny(t, f.write(t), Options{
		Pooling: "cls", Normalize: new(bool), QueryPrefix: proto.String("q: "), MaxLength: 16, OwnedBy: "me",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Parameter{
		{"pooling", "cls"}, {"query_prefix", "q: "}, {"max_model_len", "16"}, {"owned_by", "me"}, {"modes", "two"},
	} {
		if !slices.Contains(result.Parameters, want) {
			t.Errorf("parameters %v lack %v", result.Parameters, want)
		}
	}
	if ops := operators(t, result); slices.Contains(ops, "Sqrt") {
		t.Errorf("vectors are normalized: operators %v", ops)
	}
}

func operators(t *testing.T, result *Result) (names []string) {
	for _, node := range readGraph(t, result).Node {
		names = append(names, node.GetOpType())
	}
	return names
}

func readGraph(t *testing.T, result *Result) *onnxpb.GraphProto {
	t.Helper()
	m, err := readProto(filepath.Join(result.Dir, "1", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	return m.Graph
}

func TestPrecision(t *testing.T) {
	for name, c := range map[string]struct {
		dtype, precision string
		want             int32
	}{
		"default":    {"F32", "", onnxFloat16},
		"fp32":       {"F32", precisionFP32, onnxFloat},
		"BF16, fp16": {"BF16", precisionFP16, onnxFloat16},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTiny(apiRanking)
			f.dtype = c.dtype
			result, err := importTiny(t, f.write(t), Options{API: apiRanking, Precision: c.precision})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range readGraph(t, result).Initializer {
				if w.GetName() == "classifier.weight" && w.GetDataType() != c.want {
					t.Errorf("element type %d, want %d", w.GetDataType(), c.want)
				}
			}
		})
	}
}

// If the graph is too large for one file, large tensors go to another, at the offsets that the graph names.
func TestExternalData(t *testing.T) {
	limit := maxFileSize
	defer func() { maxFileSize = limit }()
	f := newTiny(apiEmbedding)
	f.config["vocab_size"] = 800
	f.tensors["embeddings.word_embeddings.weight"] = []int64{800, 4}
	dir := f.write(t)
	internal, err := importTiny(t, dir, Options{Precision: precisionFP32})
	if err != nil {
		t.Fatal(err)
	}
	maxFileSize = 1000
	external, err := importTiny(t, dir, Options{Precision: precisionFP32})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(external.Dir, "1", "model.onnx.data"))
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for i, w := range readGraph(t, external).Initializer {
		if want := readGraph(t, internal).Initializer[i].RawData; w.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
			moved++
			if string(data[:len(want)]) != string(want) || w.ExternalData[2].GetValue() != "12800" || w.RawData != nil {
				t.Errorf("%s has external data %v, want 12800 bytes at offset 0", w.GetName(), w.ExternalData)
			}
		}
	}
	if moved != 1 {
		t.Errorf("%d tensors are external, want 1", moved)
	}
}

func TestForce(t *testing.T) {
	dir := newTiny(apiEmbedding).write(t)
	o := Options{Repository: t.TempDir()}
	result, err := importTiny(t, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(result.Dir, "old"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := importTiny(t, dir, o); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("replaced without --force: %v", err)
	}
	o.Force = true
	if _, err := importTiny(t, dir, o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(result.Dir, "old")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old entry is still there: %v", err)
	}
	if left, _ := os.ReadDir(o.Repository); len(left) != 1 {
		t.Errorf("the repository has %v", left)
	}
}

// The tensors of an ONNX graph must be those that the gateway uses.
func TestONNXGraphs(t *testing.T) {
	ids := func(name string) *onnxpb.ValueInfoProto { return tensorInfo(name, onnxInt64, "batch", "tokens") }
	states := tensorInfo("last_hidden_state", onnxFloat, "batch", "tokens", int64(4))
	vectors := tensorInfo("sentence_embedding", onnxFloat, "batch", int64(4))
	logits := func(width int64) *onnxpb.ValueInfoProto { return tensorInfo("logits", onnxFloat, "batch", width) }
	for name, c := range map[string]struct {
		api    string
		input  *onnxpb.ValueInfoProto // beside ids and mask, or nil
		output *onnxpb.ValueInfoProto
		want   string // in the error, or "" for none
	}{
		"token states":     {"", nil, states, ""},
		"vectors":          {"", nil, vectors, ""},
		"logits":           {apiRanking, nil, logits(1), ""},
		"two logits":       {apiRanking, nil, logits(2), "one logit"},
		"no logits":        {apiRanking, nil, states, "no logits"},
		"other output":     {"", nil, tensorInfo("x", onnxFloat, "batch", int64(4)), "none of sentence_embedding"},
		"other input":      {"", ids("position_ids"), vectors, "position_ids"},
		"input of 32 bits": {"", tensorInfo("token_type_ids", 6, "batch", "tokens"), vectors, "INT64"},
		"fixed batch":      {"", tensorInfo("token_type_ids", onnxInt64, int64(1), "tokens"), vectors, "must be free"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTiny(c.api)
			f.tensors = nil
			dir := f.write(t)
			inputs := []*onnxpb.ValueInfoProto{ids(inputIDs), ids(inputMask)}
			if c.input != nil {
				inputs = append(inputs, c.input)
			}
			data, err := proto.Marshal(&onnxpb.ModelProto{
				OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(14)}},
				Graph:       &onnxpb.GraphProto{Input: inputs, Output: []*onnxpb.ValueInfoProto{c.output}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "model.onnx"), data, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err = importTiny(t, dir, Options{API: c.api})
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			for _, want := range []string{c.want, "model.onnx"} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v, want %q in it", err, want)
				}
			}
		})
	}
}
