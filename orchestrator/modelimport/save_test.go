package modelimport

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
		"last offset":     {"offset", "4097", `offset "4097"`}, // the tensor would end after the file
		"long":            {"length", "4001", `length "4001" is not the 4000 bytes`},
		"short":           {"length", "3996", `length "3996" is not the 4000 bytes`},
		"not a number":    {"length", "all", `length "all"`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m, _ := externalGraph(t, dir)
			for _, fact := range m.Graph.Initializer[1].ExternalData {
				if fact.GetKey() == c.key {
					fact.Value = proto.String(c.value)
				}
			}
			refused(t, internalize(m, dir), c.want)
		})
	}
	for name, c := range map[string]struct {
		change func(*onnxpb.TensorProto)
		want   string
	}{
		"other shape":    {func(w *onnxpb.TensorProto) { w.Dims = []int64{1001} }, `length "4000" is not the 4004 bytes`},
		"negative shape": {func(w *onnxpb.TensorProto) { w.Dims = []int64{-1000} }, "impossible"},
		"huge shape":     {func(w *onnxpb.TensorProto) { w.Dims = []int64{1 << 40, 1 << 40} }, "impossible"},
		"texts":          {func(w *onnxpb.TensorProto) { w.DataType = proto.Int32(8) }, "element type 8"},
		"shared": {func(w *onnxpb.TensorProto) {
			w.Dims = []int64{1500}
			w.ExternalData = w.ExternalData[:1] // location
		}, "larger than the file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			m, _ := externalGraph(t, dir)
			for _, w := range m.Graph.Initializer {
				c.change(w)
			}
			refused(t, internalize(m, dir), c.want)
		})
	}
}

// External data may be a link to a file of the folder, but not to another place, nor a pipe.
func TestImportedExternalData(t *testing.T) {
	for name, c := range map[string]struct {
		place func(dir string) error // puts something in place of onnx/data, which is moved to kept
		want  string                 // in the error, or "" for none
	}{
		"link inside": {func(dir string) error {
			if err := os.Rename(filepath.Join(dir, "kept"), filepath.Join(dir, "onnx", "kept")); err != nil {
				return err
			}
			return os.Symlink("kept", filepath.Join(dir, "onnx", "data"))
		}, ""},
		"link outside": {func(dir string) error {
			return os.Symlink("../kept", filepath.Join(dir, "onnx", "data"))
		}, "it is a link, which must not leave the folder"},
		"pipe": {func(dir string) error {
			return syscall.Mkfifo(filepath.Join(dir, "onnx", "data"), 0o600)
		}, "not a regular file"},
		"folder": {func(dir string) error {
			return os.Mkdir(filepath.Join(dir, "onnx", "data"), 0o755)
		}, "not a regular file"},
	} {
		for _, precision := range []string{"", precisionInt8} {
			t.Run(name+" "+precision, func(t *testing.T) {
				f := newTiny(apiEmbedding)
				f.tensors = nil
				dir := f.write(t)
				if err := os.Mkdir(filepath.Join(dir, "onnx"), 0o755); err != nil {
					t.Fatal(err)
				}
				m := productModel(func(g *graph) string { return g.float32s("w", []int64{32, 16}, matrix()) })
				m.Graph.Input = []*onnxpb.ValueInfoProto{
					tensorInfo(inputIDs, onnxInt64, "batch", "tokens"), tensorInfo(inputMask, onnxInt64, "batch", "tokens"),
				}
				m.Graph.Output = []*onnxpb.ValueInfoProto{tensorInfo(outputVector, onnxFloat, "batch", int64(4))}
				m.Graph.Node[len(m.Graph.Node)-1].Output = []string{outputVector}
				if err := externalize(m, filepath.Join(dir, "onnx"), "data"); err != nil {
					t.Fatal(err)
				}
				text, err := proto.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "onnx", "model.onnx"), text, 0o644); err != nil {
					t.Fatal(err)
				}
				weights, err := os.ReadFile(filepath.Join(dir, "onnx", "data"))
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(filepath.Join(dir, "onnx", "data"), filepath.Join(dir, "kept")); err != nil {
					t.Fatal(err)
				}
				if err := c.place(dir); err != nil {
					t.Fatal(err)
				}
				var result *Result
				err = within(t, time.Minute, func() error {
					result, err = importTiny(t, dir, Options{Precision: precision})
					return err
				})
				if c.want != "" {
					refused(t, err, c.want)
					refused(t, err, "onnx/model.onnx")
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if precision == precisionInt8 {
					return
				}
				copied, err := os.ReadFile(filepath.Join(result.Dir, "1", "data"))
				if err != nil || !bytes.Equal(copied, weights) {
					t.Errorf("error %v, %d bytes copied, want the %d of the folder", err, len(copied), len(weights))
				}
			})
		}
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
