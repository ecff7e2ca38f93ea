package modelimport

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
)

// Sizes, paths and numbers that no author writes end in an error that names the file and the key.
func TestHostileFolders(t *testing.T) {
	type object = map[string]any
	mpnet := func() *tiny {
		f := newTiny(apiEmbedding)
		f.config["model_type"] = "mpnet"
		f.config["pad_token_id"] = 1
		return f
	}
	for name, c := range map[string]struct {
		folder *tiny
		change func(*tiny, *Options)
		want   string
	}{
		"layers without tensors": {
			newTiny(apiEmbedding), func(f *tiny, _ *Options) { f.config["num_hidden_layers"] = 1 << 60 },
			"config.json: num_hidden_layers 1152921504606846976 must be from 1 to 4096",
		},
		"huge heads": {
			newTinyNomic(), func(f *tiny, _ *Options) { f.config["n_embd"] = 1 << 60 },
			"embeddings.word_embeddings.weight has shape [8 4], but config.json needs [8 11529215",
		},
		"huge feed-forward network": {
			newTinyModern(), func(f *tiny, _ *Options) { f.config["intermediate_size"] = math.MaxInt64 },
			"mlp.Wi.weight has shape [16 4]",
		},
		"empty position table": {
			mpnet(), func(f *tiny, o *Options) {
				f.config["max_position_embeddings"] = 0
				f.tensors["embeddings.position_embeddings.weight"] = []int64{0, 4}
				f.tensors["encoder.relative_attention_bias.weight"] = []int64{32, 2}
				o.MaxLength = 16
			},
			"config.json: max_position_embeddings 0",
		},
		"empty window": {
			newTinyModern(), func(f *tiny, _ *Options) { f.config["local_attention"] = 0 },
			"config.json: local_attention 0",
		},
		"every 0 layers": {
			newTinyModern(), func(f *tiny, _ *Options) { f.config["global_attn_every_n_layers"] = 0 },
			"config.json: local_attention 8 and global_attn_every_n_layers 0",
		},
		"negative rotary base": {
			newTinyNomic(), func(f *tiny, _ *Options) { f.config["rotary_emb_base"] = -2 },
			"config.json: rotary_emb_base -2",
		},
		"negative base of local layers": {
			newTinyModern(), func(f *tiny, _ *Options) { f.config["local_rope_theta"] = -2 },
			"config.json: local_rope_theta -2",
		},
		"base 0": {
			newTinyNomic(), func(f *tiny, _ *Options) { f.config["rotary_emb_base"] = 0 },
			"config.json: rotary_emb_base 0 must be positive",
		},
		"rope_theta 0": {
			newTinyNomic(), func(f *tiny, _ *Options) { f.config["rope_parameters"] = object{"rope_theta": 0} },
			"config.json: rope_parameters: rope_theta 0 must be positive",
		},
		"negative rope_theta": {
			newTinyModern(), func(f *tiny, _ *Options) {
				f.config["rope_parameters"] = object{fullAttention: object{"rope_theta": -2}}
			},
			"config.json: rope_parameters: rope_theta -2",
		},
		"module outside the folder": {
			newTiny(apiEmbedding), func(f *tiny, _ *Options) {
				f.files["modules.json"] = []object{
					{"path": "", "type": "Transformer"}, {"path": "../1_Pooling", "type": "Pooling"},
				}
			},
			`modules.json: module 1 has path "../1_Pooling", which is outside the folder`,
		},
		"short max_seq_length": {
			newTiny(apiEmbedding), func(f *tiny, _ *Options) {
				f.files["sentence_bert_config.json"] = object{"max_seq_length": -1}
			},
			"sentence_bert_config.json: max_seq_length -1",
		},
		"short model_max_length": {
			newTiny(apiEmbedding), func(f *tiny, _ *Options) {
				f.files["tokenizer_config.json"] = object{"model_max_length": 2}
			},
			"tokenizer_config.json: model_max_length 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{}
			c.change(c.folder, &o)
			if _, err := importTiny(t, c.folder.write(t), o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// The end of a tensor plus the length of the header is more than an int64 holds.
func TestOffsetsOutsideTheFile(t *testing.T) {
	dir := newTiny(apiEmbedding).write(t)
	header := `{"x": {"dtype": "F32", "shape": [4], "data_offsets": [0, 9223372036854775807]}}`
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	if err := os.WriteFile(filepath.Join(dir, tensorsFile), append(data, header...), 0o644); err != nil {
		t.Fatal(err)
	}
	want := "model.safetensors: header: x: data_offsets [0 9223372036854775807] are outside the file"
	if _, err := importTiny(t, dir, Options{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q in it", err, want)
	}
}

// Two Dense modules with the same path have the same weights, but each has its own tensors in the graph.
func TestRepeatedDense(t *testing.T) {
	f := newTiny(apiEmbedding)
	f.files["modules.json"] = []map[string]any{
		{"path": "", "type": "Transformer"}, {"path": "1_Pooling", "type": "Pooling"},
		{"path": "2_Dense", "type": "Dense"}, {"path": "2_Dense", "type": "Dense"},
	}
	f.files["2_Dense/config.json"] = map[string]any{"in_features": 4, "out_features": 4}
	dir := f.write(t)
	dense := &tiny{dtype: "F32", tensors: map[string][]int64{"linear.weight": {4, 4}, "linear.bias": {4}}}
	if err := os.Rename(filepath.Join(dense.write(t), tensorsFile), filepath.Join(dir, "2_Dense", tensorsFile)); err != nil {
		t.Fatal(err)
	}
	result, err := importTiny(t, dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, tensor := range readGraph(t, result).Initializer {
		if names[tensor.GetName()] {
			t.Errorf("two tensors have the name %s", tensor.GetName())
		}
		names[tensor.GetName()] = true
	}
}

// Nodes that no exporter writes are not constant.
func TestHostileConstants(t *testing.T) {
	node := func(op, output string, inputs ...string) *onnxpb.NodeProto {
		return &onnxpb.NodeProto{OpType: &op, Input: inputs, Output: []string{output}}
	}
	cast := node("Cast", "cast")
	cast.Attribute = append(cast.Attribute, intAttribute("to", onnxFloat))
	known := newConstants(&onnxpb.GraphProto{Node: []*onnxpb.NodeProto{
		node("Identity", "cycle", "cycle"), node("Identity", "identity"), cast,
		node("Transpose", "transpose"), node("Mul", "mul", "cycle"),
	}})
	for _, name := range []string{"cycle", "identity", "cast", "transpose", "mul"} {
		if _, ok := known.floats(name); ok {
			t.Errorf("%s is constant", name)
		}
	}
	// Each product uses the previous one twice: without a limit, the last one is 2^64 products.
	g := &onnxpb.GraphProto{}
	newGraph(g, true).float32s("x", []int64{1, 1}, []float32{1})
	for range 64 {
		g.Node = append(g.Node, node("Mul", "x"+strings.Repeat("'", len(g.Node)+1),
			"x"+strings.Repeat("'", len(g.Node)), "x"+strings.Repeat("'", len(g.Node))))
	}
	if _, ok := newConstants(g).floats("x" + strings.Repeat("'", 64)); ok {
		t.Error("64 products in a row are constant")
	}
	// A product without factors.
	m := &onnxpb.ModelProto{
		OpsetImport: []*onnxpb.OperatorSetIdProto{{Version: proto.Int64(17)}},
		Graph:       &onnxpb.GraphProto{Node: []*onnxpb.NodeProto{node("MatMul", "y")}},
	}
	if _, err := quantizeProducts(m); err == nil {
		t.Error("a product without factors was quantized")
	}
}
