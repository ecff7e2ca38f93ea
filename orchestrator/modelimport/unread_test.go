package modelimport

import (
	"strings"
	"testing"
)

// Tensors of the encoder that the graph would not have are refused; heads and computed tables are not.
func TestUnreadTensors(t *testing.T) {
	for name, want := range map[string]string{
		"encoder.layer.1.output.dense.weight": "config.json: num_hidden_layers 1, but model.safetensors has tensor " +
			"encoder.layer.1.output.dense.weight",
		"encoder.layer.0.attention.self.norm.weight": "model.safetensors: tensor " +
			"encoder.layer.0.attention.self.norm.weight is not supported",
		"embeddings.projection.weight":                      "tensor embeddings.projection.weight is not supported",
		"embeddings.position_ids":                           "",
		"encoder.layer.0.attention.self.rotary.inv_freq":    "",
		"pooler.dense.weight":                               "",
		"cls.predictions.transform.dense.weight":            "",
		"other.encoder.layer.1.attention.self.query.weight": "",
	} {
		t.Run(name, func(t *testing.T) {
			f := newTiny(apiEmbedding)
			f.tensors[name] = []int64{4, 4}
			_, err := importTiny(t, f.write(t), Options{})
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("error %v, want %q in it", err, want)
			}
		})
	}
}
