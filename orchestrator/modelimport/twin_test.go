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

// twinned is a repository with an entry whose graph has a matrix.
func twinned(t *testing.T) (repository string) {
	t.Helper()
	made, err := importTiny(t, newTiny(Embedding).write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := multiplied(func(g *graph) string { return g.constant(triton.Float32s("", []int64{32, 16}, matrix()), onnxFloat) })
	m.Graph.Input = read(t, made).Graph.Input
	m.Graph.Output = []*onnxpb.ValueInfoProto{described(outputVector, onnxFloat, "batch", int64(4))}
	m.Graph.Node[len(m.Graph.Node)-1].Output = []string{outputVector}
	data, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(made.Dir, "3"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(made.Dir, "3", "model.onnx"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(made.Dir)
}

func TestQuantize(t *testing.T) {
	repository := twinned(t)
	of := Twin{Of: "tiny_model_v1", ID: "tests/int8", Repository: repository, Now: time.Unix(1795219200, 0)}
	made, err := Quantize(of)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(made.Dir, "config.pbtxt"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := triton.ParseConfig(text)
	if err != nil || config.Name != "tiny_model_v1_int8" || config.Parameters["model_id"] != "tests/int8" || config.Parameters["pooling"] != "mean" {
		t.Errorf("%v\n%s", err, text)
	}
	if ops := strings.Join(operatorsOf(t, made), " "); !strings.Contains(ops, "MatMulInteger") {
		t.Errorf("operators %s", ops)
	}
	card, err := os.ReadFile(filepath.Join(made.Dir, "CARD.md"))
	if err != nil || !strings.Contains(string(card), "`tiny_model_v1`, version 3") || !strings.Contains(string(card), "1 products") {
		t.Errorf("%v\n%s", err, card)
	}
	if _, err := os.Stat(filepath.Join(made.Dir, "tokenizer.json")); err != nil {
		t.Error(err)
	}
	if _, err := Quantize(of); err == nil || !strings.Contains(err.Error(), "--force") {
		t.Errorf("replaced unasked: %v", err)
	}
	of.Force = true
	if _, err := Quantize(of); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(repository); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}

func TestQuantizeRefuses(t *testing.T) {
	repository := twinned(t)
	for name, c := range map[string]struct {
		change func(*Twin)
		want   string
	}{
		"no such entry": {func(w *Twin) { w.Of = "other" }, `no entry "other"`},
		"outside":       {func(w *Twin) { w.Of = "../" + filepath.Base(repository) + "/tiny_model_v1" }, "no entry"},
		"same id":       {func(w *Twin) { w.ID = "tests/Tiny-Model.v1" }, "needs its own"},
		"no id":         {func(w *Twin) { w.ID = " " }, "id"},
		"unfit name":    {func(w *Twin) { w.Name = "a/b" }, `name "a/b"`},
	} {
		w := Twin{Of: "tiny_model_v1", ID: "tests/int8", Repository: repository, Now: time.Unix(1795219200, 0)}
		c.change(&w)
		if _, err := Quantize(w); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.RemoveAll(filepath.Join(repository, "tiny_model_v1", "3")); err != nil {
		t.Fatal(err)
	}
	_, err := Quantize(Twin{Of: "tiny_model_v1", ID: "tests/int8", Repository: repository})
	if err == nil || !strings.Contains(err.Error(), "no product") {
		t.Errorf("without matrices: %v", err)
	}
	if left, _ := os.ReadDir(repository); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
