package modelimport

import (
	"math"
	"strings"
	"testing"
)

// newTinyJina returns the folder of a JinaBERT with one layer, of the first implementation or the second (qkNorm).
func newTinyJina(qkNorm bool) *tiny {
	f := newTiny(apiEmbedding)
	f.config["position_embedding_type"] = "alibi"
	f.config["feed_forward_type"] = "geglu"
	const layer = "encoder.layer.0."
	for name := range f.tensors {
		if strings.HasPrefix(name, layer+"intermediate") || strings.HasPrefix(name, layer+"output") {
			delete(f.tensors, name)
		}
	}
	delete(f.tensors, "embeddings.position_embeddings.weight")
	gated, down, norms := "mlp.gated_layers", "mlp.wo", []string{"mlp.layernorm"}
	if qkNorm {
		gated, down = "mlp.up_gated_layer", "mlp.down_layer"
		norms = []string{
			"layer_norm_1", "layer_norm_2", "attention.self.layer_norm_q", "attention.self.layer_norm_k",
		}
	}
	f.tensors[layer+gated+".weight"] = []int64{16, 4}
	f.tensors[layer+down+".weight"] = []int64{4, 8}
	f.tensors[layer+down+".bias"] = []int64{4}
	for _, norm := range norms {
		f.tensors[layer+norm+".weight"] = []int64{4}
		f.tensors[layer+norm+".bias"] = []int64{4}
	}
	return f
}

// The numbers of nodes tell the implementations and their activations apart.
func TestJinaGraphs(t *testing.T) {
	for name, c := range map[string]struct {
		qkNorm      bool
		kind        string
		norms, relu int
	}{
		"first, geglu":  {false, "geglu", 3, 0},
		"first, reglu":  {false, "reglu", 3, 1},
		"second, geglu": {true, "geglu", 6, 0},
		"second, reglu": {true, "reglu", 6, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTinyJina(c.qkNorm)
			f.config["feed_forward_type"] = c.kind
			result, err := importTiny(t, f.write(t), Options{})
			if err != nil {
				t.Fatal(err)
			}
			count := map[string]int{}
			for _, operator := range operators(t, result) {
				count[operator]++
			}
			if count["LayerNormalization"] != c.norms || count["Relu"] != c.relu {
				t.Errorf("%d normalizations and %d Relu, want %d and %d",
					count["LayerNormalization"], count["Relu"], c.norms, c.relu)
			}
		})
	}
}

func TestJinaRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*tiny)
		want   string
	}{
		"ungated": {
			func(f *tiny) { f.config["feed_forward_type"] = "original" },
			"config.json: feed_forward_type original is not supported, only geglu and reglu",
		},
		"no feed_forward_type": {
			func(f *tiny) { delete(f.config, "feed_forward_type") }, "config.json: feed_forward_type <nil>",
		},
		"position table": {
			func(f *tiny) { f.tensors["embeddings.position_embeddings.weight"] = []int64{32, 4} },
			"tensor embeddings.position_embeddings.weight is not supported",
		},
		"bias of the gate": {
			func(f *tiny) { f.tensors["encoder.layer.0.mlp.gated_layers.bias"] = []int64{16} },
			"tensor encoder.layer.0.mlp.gated_layers.bias is not supported",
		},
		"ALiBi in another family": {
			func(f *tiny) { f.config["model_type"] = "roberta" },
			`config.json: position_embedding_type "alibi" is not supported, only absolute`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTinyJina(false)
			c.change(f)
			if _, err := importTiny(t, f.write(t), Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// The exponents of the slopes of 8 and of 12 heads are those of the code that the ALiBi paper links.
func TestAlibiSlopes(t *testing.T) {
	for heads, exponents := range map[int][]float64{
		1:  {8},
		4:  {2, 4, 6, 8},
		8:  {1, 2, 3, 4, 5, 6, 7, 8},
		12: {1, 2, 3, 4, 5, 6, 7, 8, 0.5, 1.5, 2.5, 3.5},
	} {
		slopes := alibiSlopes(heads)
		if len(slopes) != heads {
			t.Fatalf("%d heads have slopes %v", heads, slopes)
		}
		for i, exponent := range exponents {
			if want := math.Exp2(-exponent); math.Abs(float64(slopes[i])-want) > 1e-7 {
				t.Errorf("%d heads: slope %d is %g, want %g", heads, i, slopes[i], want)
			}
		}
	}
}
