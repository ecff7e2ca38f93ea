package modelimport

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
)

// externalGraph returns a graph with two tensors whose data is external, in the file data of dir, and their content.
func externalGraph(t *testing.T, dir string) (*onnxpb.ModelProto, [][]byte) {
	t.Helper()
	m := &onnxpb.ModelProto{Graph: &onnxpb.GraphProto{}}
	g := newGraph(m.Graph, true)
	for i, name := range []string{"first", "second"} {
		values := make([]float32, 1000)
		for j := range values {
			values[j] = float32(i*len(values) + j)
		}
		g.float32s(name, []int64{1000}, values)
	}
	content := [][]byte{m.Graph.Initializer[0].RawData, m.Graph.Initializer[1].RawData}
	if err := externalize(m, dir, "data"); err != nil {
		t.Fatal(err)
	}
	return m, content
}

func TestInternalize(t *testing.T) {
	dir := t.TempDir()
	m, content := externalGraph(t, dir)
	if err := internalize(m, dir); err != nil {
		t.Fatal(err)
	}
	for i, tensor := range m.Graph.Initializer {
		isExternal := tensor.GetDataLocation() == onnxpb.TensorProto_EXTERNAL || len(tensor.ExternalData) > 0
		if isExternal || !bytes.Equal(tensor.RawData, content[i]) {
			t.Errorf("%s has other data than before", tensor.GetName())
		}
	}
}

func TestInternalizeRefuses(t *testing.T) {
	for name, c := range map[string]struct{ key, value, want string }{
		"outside":         {"location", "../data", "outside the folder"},
		"missing":         {"location", "absent", "absent"},
		"negative offset": {"offset", "-1", `offset "-1"`},
		"late offset":     {"offset", "9000", `offset "9000"`},
		"long":            {"length", "9000", `length "9000"`},
		"short":           {"length", "3996", "do not fit the shape"},
		"not a number":    {"length", "all", `length "all"`},
		"shared":          {"", "", "larger than the file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m, _ := externalGraph(t, dir)
			if c.want == "larger than the file" { // three tensors have the bytes of two
				m.Graph.Initializer = append(m.Graph.Initializer, m.Graph.Initializer[0], m.Graph.Initializer[0])
				m.Graph.Initializer[2] = proto.CloneOf(m.Graph.Initializer[0])
				m.Graph.Initializer[3] = proto.CloneOf(m.Graph.Initializer[0])
			} else {
				for _, fact := range m.Graph.Initializer[1].ExternalData {
					if fact.GetKey() == c.key {
						fact.Value = proto.String(c.value)
					}
				}
			}
			if err := internalize(m, dir); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
}

// A pipe in place of external data does not stop the import.
func TestExternalDataInAPipe(t *testing.T) {
	dir := t.TempDir()
	m, _ := externalGraph(t, dir)
	path := filepath.Join(dir, "data")
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := internalize(m, dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("error %v", err)
	}
}

// An entry with external data can be quantized: the products are the same as those of a graph in one file.
func TestQuantizeExternalData(t *testing.T) {
	repository := repositoryToQuantize(t)
	options := QuantizeOptions{Source: "tiny_model_v1", ID: "tests/int8", Repository: repository}
	want, err := Quantize(options)
	if err != nil {
		t.Fatal(err)
	}
	version := filepath.Join(repository, "tiny_model_v1", "3")
	m, err := readProto(filepath.Join(version, "model.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if err := externalize(m, version, "data"); err != nil {
		t.Fatal(err)
	}
	text, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(version, "model.onnx"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	options.Name = "external"
	got, err := Quantize(options)
	if err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(readGraph(t, got), readGraph(t, want)) {
		t.Error("the graph differs from that of a model in one file")
	}
	if len(readGraph(t, got).Initializer) == 0 {
		t.Error("the graph has no weights")
	}
}

// The plan comes before the weights are read; then all bytes that the graph has are counted.
func TestBegin(t *testing.T) {
	dir := newTiny(apiEmbedding).write(t)
	var plan string
	total, read := int64(0), int64(0)
	_, err := importTiny(t, dir, Options{Begin: func(text string, bytes int64) func(int) {
		plan = text
		total = bytes
		return func(bytes int) { read += int64(bytes) }
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(plan, "as embeddings with pooling mean, texts of up to") {
		t.Errorf("plan %q", plan)
	}
	if read == 0 || read > total {
		t.Errorf("%d of %d bytes were read", read, total)
	}
}
