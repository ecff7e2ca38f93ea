package modelimport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
	"retort/orchestrator/triton"
)

// repositoryToQuantize returns a repository with the entry tiny_model_v1, whose newest version has a product with a
// matrix.
func repositoryToQuantize(t *testing.T) (repository string) {
	t.Helper()
	result, err := importTiny(t, newTiny(apiEmbedding).write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := productModel(func(g *graph) string { return g.float32s("w", []int64{32, 16}, matrix()) })
	m.Graph.Input = readGraph(t, result).Input
	m.Graph.Output = []*onnxpb.ValueInfoProto{tensorInfo(outputVector, onnxFloat, "batch", int64(4))}
	m.Graph.Node[len(m.Graph.Node)-1].Output = []string{outputVector}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(result.Dir, "3"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(result.Dir, "3", "model.onnx"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(result.Dir)
}

func TestQuantize(t *testing.T) {
	repository := repositoryToQuantize(t)
	weights := []string{"model.safetensors", "config.json"}
	for _, name := range weights {
		if err := os.WriteFile(filepath.Join(repository, "tiny_model_v1", name), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	options := QuantizeOptions{
		Source: "tiny_model_v1", ID: "tests/int8", Repository: repository, Now: time.Unix(1795219200, 0),
	}
	result, err := Quantize(options)
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
	if config.Name != "tiny_model_v1_int8" || config.Parameters["model_id"] != "tests/int8" ||
		config.Parameters["pooling"] != "mean" {
		t.Errorf("config.pbtxt is\n%s", text)
	}
	if ops := strings.Join(operators(t, result), " "); !strings.Contains(ops, "MatMulInteger") {
		t.Errorf("operators %s", ops)
	}
	card, err := os.ReadFile(filepath.Join(result.Dir, "CARD.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"`tiny_model_v1`, version 3", "1 products"} {
		if !strings.Contains(string(card), want) {
			t.Errorf("CARD.md lacks %q:\n%s", want, card)
		}
	}
	if _, err := os.Stat(filepath.Join(result.Dir, "tokenizer.json")); err != nil {
		t.Error(err)
	}
	for _, name := range weights {
		if _, err := os.Stat(filepath.Join(result.Dir, name)); err == nil {
			t.Errorf("the entry has the %s of the source, which does not give its graph", name)
		}
	}
	if _, err := Quantize(options); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("replaced without --force: %v", err)
	}
	options.Force = true
	if _, err := Quantize(options); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(repository); len(left) != 2 {
		t.Errorf("the repository has %v", left)
	}
}

func TestQuantizeRefuses(t *testing.T) {
	repository := repositoryToQuantize(t)
	for name, c := range map[string]struct {
		change func(*QuantizeOptions)
		want   string
	}{
		"no such entry": {func(o *QuantizeOptions) { o.Source = "other" }, `no entry "other"`},
		"outside": {func(o *QuantizeOptions) {
			o.Source = "../" + filepath.Base(repository) + "/tiny_model_v1"
		}, "no entry"},
		"same id":      {func(o *QuantizeOptions) { o.ID = "tests/Tiny-Model.v1" }, "needs its own"},
		"no id":        {func(o *QuantizeOptions) { o.ID = " " }, "id"},
		"invalid name": {func(o *QuantizeOptions) { o.Name = "a/b" }, `name "a/b"`},
	} {
		options := QuantizeOptions{Source: "tiny_model_v1", ID: "tests/int8", Repository: repository}
		c.change(&options)
		if _, err := Quantize(options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q in it", name, err, c.want)
		}
	}
	if err := os.RemoveAll(filepath.Join(repository, "tiny_model_v1", "3")); err != nil {
		t.Fatal(err)
	}
	_, err := Quantize(QuantizeOptions{Source: "tiny_model_v1", ID: "tests/int8", Repository: repository})
	if err == nil || !strings.Contains(err.Error(), "no product") {
		t.Errorf("without a matrix: %v", err)
	}
	if left, _ := os.ReadDir(repository); len(left) != 1 {
		t.Errorf("the repository has %v", left)
	}
}
