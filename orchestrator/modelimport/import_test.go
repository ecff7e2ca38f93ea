package modelimport

import (
	"errors"
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

// What cannot be served as it was meant is refused, with the file and the key, and nothing is left behind.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		api    string
		change func(*tiny, *Options)
		want   string
	}{
		"no tokenizer":       {"", func(f *tiny, _ *Options) { f.tokenizer = "" }, "no tokenizer.json"},
		"unknown tokenizer":  {"", func(f *tiny, _ *Options) { f.tokenizer = strings.Replace(f.tokenizer, "WordPiece", "WordLevel", 1) }, "tokenizer.json: "},
		"larger vocabulary":  {"", func(f *tiny, _ *Options) { f.tokenizer = strings.Replace(f.tokenizer, `"##s":7`, `"##s":7,"b":8`, 1) }, "vocab_size"},
		"unknown network":    {"", func(f *tiny, _ *Options) { f.config["model_type"] = "deberta" }, `config.json: model_type "deberta"`},
		"unknown activation": {"", func(f *tiny, _ *Options) { f.config["hidden_act"] = "silu" }, `config.json: hidden_act "silu"`},
		"relative positions": {"", func(f *tiny, _ *Options) { f.config["position_embedding_type"] = "relative_key" }, "config.json: position_embedding_type"},
		"decoder":            {"", func(f *tiny, _ *Options) { f.config["is_decoder"] = true }, "config.json: is_decoder"},
		"odd heads":          {"", func(f *tiny, _ *Options) { f.config["num_attention_heads"] = 3 }, "num_attention_heads"},
		"missing tensor":     {"", func(f *tiny, _ *Options) { delete(f.tensors, "encoder.layer.0.output.dense.bias") }, "no tensor encoder.layer.0.output.dense.bias"},
		"wrong shape":        {"", func(f *tiny, _ *Options) { f.config["intermediate_size"] = 16 }, "tensor encoder.layer.0.intermediate.dense.weight has shape [8 4]"},
		"wrong dtype":        {"", func(f *tiny, _ *Options) { f.dtype = "I32" }, "dtype I32"},
		"no weights":         {"", func(f *tiny, _ *Options) { f.tensors = nil }, "has no weights"},
		"weights of PyTorch": {"", func(f *tiny, _ *Options) { f.tensors, f.files["pytorch_model.bin"] = nil, 1 }, "pytorch_model.bin"},
		"unknown module": {"", func(f *tiny, _ *Options) {
			f.files["modules.json"] = []map[string]any{{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}}
		}, "modules.json: Dense"},
		"unknown pooling": {"", func(f *tiny, _ *Options) {
			f.files["1_Pooling/config.json"] = map[string]any{"pooling_mode_max_tokens": true}
		}, "1_Pooling/config.json: pooling_mode [max]"},
		"no pooling": {"", func(f *tiny, _ *Options) { delete(f.files, "modules.json") }, "--pooling"},
		"prompt for all": {"", func(f *tiny, _ *Options) {
			f.files["config_sentence_transformers.json"] = map[string]any{"prompts": map[string]string{"sts": "x"}, "default_prompt_name": "sts"}
		}, "default_prompt_name"},
		"too long": {"", func(_ *tiny, o *Options) { o.MaxLength = 33 }, "max_position_embeddings for 32"},
		"lower case": {"", func(f *tiny, _ *Options) {
			f.tokenizer = strings.Replace(f.tokenizer, `"lowercase":true`, `"lowercase":false`, 1)
			f.files["sentence_bert_config.json"] = map[string]any{"do_lower_case": true}
		}, "do_lower_case"},
		"broken JSON":          {"", func(f *tiny, _ *Options) { f.config["hidden_size"] = "wide" }, "config.json: "},
		"unknown API":          {"chat", func(*tiny, *Options) {}, `api "chat"`},
		"unfit name":           {"", func(_ *tiny, o *Options) { o.Name = "../up" }, `name "../up"`},
		"graph wanted":         {"", func(_ *tiny, o *Options) { o.Weights = "onnx" }, "no model.onnx"},
		"no classifier":        {Ranking, func(f *tiny, _ *Options) { delete(f.tensors, "classifier.weight") }, "no classifier.weight"},
		"labels of the config": {Ranking, func(f *tiny, _ *Options) { f.config["id2label"] = map[string]string{"0": "no", "1": "yes"} }, "config.json: id2label has 2 labels"},
		"labels of the tensor": {Ranking, func(f *tiny, _ *Options) { f.tensors["classifier.weight"] = []int64{3, 4} }, "classifier.weight has 3 labels"},
	} {
		t.Run(name, func(t *testing.T) {
			f, o := newTiny(c.api), Options{API: c.api, Repository: t.TempDir()}
			c.change(f, &o)
			_, err := importTiny(t, f.write(t), o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
			if left, _ := os.ReadDir(o.Repository); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestTheFolderFillsTheParameters(t *testing.T) {
	f := newTiny(Embedding)
	f.files["sentence_bert_config.json"] = map[string]any{"max_seq_length": 20}
	f.files["tokenizer_config.json"] = map[string]any{"model_max_length": 1e30}
	f.files["config_sentence_transformers.json"] = map[string]any{"prompts": map[string]string{"query": "find \"this\":\n", "document": "", "sts": "x"}}
	made, err := importTiny(t, f.write(t), Options{LeastDimensions: 2})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(made.Dir, "config.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"retort_api": "embedding", "model_id": "tests/Tiny-Model.v1", "owned_by": "tests", "created": "1795219200", "modes": "two",
		"query_prefix": "find \"this\":\n", "passage_prefix": "", "dimensions": "2-4", "pooling": "mean", "max_model_len": "20",
	} {
		if got := config.Parameters[key]; got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if config.Name != "tiny_model_v1" || len(config.Inputs) != 3 || config.Outputs[0].Name != outputVector || config.Outputs[0].Shape[0] != 4 {
		t.Errorf("%+v", config)
	}
	if len(made.Notes) != 1 || !strings.Contains(made.Notes[0], "sts") {
		t.Errorf("notes %q", made.Notes)
	}
	if tok, err := tokenizers.Load(filepath.Join(made.Dir, "tokenizer.json")); err != nil || tok.Size() != 8 {
		t.Errorf("%v", err)
	}
	if text, err := os.ReadFile(filepath.Join(made.Dir, "tokenizer.json")); err != nil || !strings.Contains(string(text), `"truncation":null`) {
		t.Errorf("the tokenizer still truncates: %v", err)
	}
}

// What o says goes before what the folder says.
func TestOptionsGoFirst(t *testing.T) {
	f, no, prefix := newTiny(Embedding), false, "q: "
	delete(f.files, "modules.json")
	made, err := importTiny(t, f.write(t), Options{Pooling: "cls", Normalize: &no, QueryPrefix: &prefix, MaxLength: 16, OwnedBy: "me"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []Parameter{{"pooling", "cls"}, {"query_prefix", "q: "}, {"max_model_len", "16"}, {"owned_by", "me"}, {"modes", "two"}} {
		if !slices.Contains(made.Told, want) {
			t.Errorf("%v lacks %v", made.Told, want)
		}
	}
	if nodes := operatorsOf(t, made); slices.Contains(nodes, "Sqrt") {
		t.Errorf("vectors are divided by their length: %v", nodes)
	}
}

func operatorsOf(t *testing.T, made *Result) (names []string) {
	for _, node := range read(t, made).Graph.Node {
		names = append(names, node.GetOpType())
	}
	return names
}

func read(t *testing.T, made *Result) *onnxpb.ModelProto {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(made.Dir, "1", "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	m := &onnxpb.ModelProto{}
	if err := proto.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestStorage(t *testing.T) {
	for name, c := range map[string]struct {
		dtype, precision string
		want             int32
	}{"16 bits": {"F32", "", onnxFloat16}, "32 bits": {"F32", FP32, onnxFloat}, "of BF16": {"BF16", FP16, onnxFloat16}} {
		t.Run(name, func(t *testing.T) {
			f := newTiny(Ranking)
			f.dtype = c.dtype
			made, err := importTiny(t, f.write(t), Options{API: Ranking, Precision: c.precision})
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range read(t, made).Graph.Initializer {
				if w.GetName() == "classifier.weight" && w.GetDataType() != c.want {
					t.Errorf("stored as %d, want %d", w.GetDataType(), c.want)
				}
			}
		})
	}
}

// A graph too large for one file has its weights beside it, at their offsets.
func TestExternalData(t *testing.T) {
	most := mostInOneFile
	defer func() { mostInOneFile = most }()
	f := newTiny(Embedding)
	f.config["vocab_size"], f.tensors["embeddings.word_embeddings.weight"] = 800, []int64{800, 4}
	dir := f.write(t)
	inside, err := importTiny(t, dir, Options{Precision: FP32})
	if err != nil {
		t.Fatal(err)
	}
	mostInOneFile = 1000
	outside, err := importTiny(t, dir, Options{Precision: FP32})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(outside.Dir, "1", "model.onnx.data"))
	if err != nil {
		t.Fatal(err)
	}
	moved := 0
	for i, w := range read(t, outside).Graph.Initializer {
		if want := read(t, inside).Graph.Initializer[i].RawData; w.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
			moved++
			if string(data[:len(want)]) != string(want) || w.ExternalData[2].GetValue() != "12800" || w.RawData != nil {
				t.Errorf("%v", w.ExternalData)
			}
		}
	}
	if moved != 1 {
		t.Errorf("%d tensors were moved", moved)
	}
}

func TestForce(t *testing.T) {
	dir, o := newTiny(Embedding).write(t), Options{Repository: t.TempDir()}
	made, err := importTiny(t, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(made.Dir, "old"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := importTiny(t, dir, o); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("replaced unasked: %v", err)
	}
	o.Force = true
	if _, err := importTiny(t, dir, o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(made.Dir, "old")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old entry is there: %v", err)
	}
	if left, _ := os.ReadDir(o.Repository); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// A folder with a graph: its tensors must be the gateway's.
func TestGraphs(t *testing.T) {
	ids := func(name string) *onnxpb.ValueInfoProto { return described(name, onnxInt64, "batch", "tokens") }
	for name, c := range map[string]struct {
		api    string
		inputs []*onnxpb.ValueInfoProto
		output *onnxpb.ValueInfoProto
		want   string
	}{
		"token states":     {"", nil, described("last_hidden_state", onnxFloat, "batch", "tokens", int64(4)), ""},
		"vectors":          {"", nil, described("sentence_embedding", onnxFloat, "batch", int64(4)), ""},
		"logits":           {Ranking, nil, described("logits", onnxFloat, "batch", int64(1)), ""},
		"two logits":       {Ranking, nil, described("logits", onnxFloat, "batch", int64(2)), "one logit"},
		"no logits":        {Ranking, nil, described("last_hidden_state", onnxFloat, "batch", "tokens", int64(4)), "no logits"},
		"other output":     {"", nil, described("x", onnxFloat, "batch", int64(4)), "none of sentence_embedding"},
		"other input":      {"", []*onnxpb.ValueInfoProto{ids("position_ids")}, described("sentence_embedding", onnxFloat, "batch", int64(4)), "position_ids"},
		"input of 32 bits": {"", []*onnxpb.ValueInfoProto{described("token_type_ids", 6, "batch", "tokens")}, described("sentence_embedding", onnxFloat, "batch", int64(4)), "INT64"},
		"fixed batch":      {"", []*onnxpb.ValueInfoProto{described("token_type_ids", onnxInt64, int64(1), "tokens")}, described("sentence_embedding", onnxFloat, "batch", int64(4)), "must be free"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTiny(c.api)
			f.tensors = nil
			dir := f.write(t)
			data, err := proto.Marshal(&onnxpb.ModelProto{
				OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(14)}},
				Graph:       &onnxpb.GraphProto{Input: append(c.inputs, ids(inputIDs), ids(inputMask)), Output: []*onnxpb.ValueInfoProto{c.output}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "model.onnx"), data, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err = importTiny(t, dir, Options{API: c.api})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "model.onnx")) {
				t.Errorf("%v, want %q in it", err, c.want)
			}
		})
	}
}
