package modelimport

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
)

// weights are the model's graph, made or read, and where it came from.
type weights struct {
	model *onnxpb.ModelProto
	// file is the folder's, with its SHA-256; kept is set when the graph goes into the entry byte by byte as it is
	// there.
	file, sum string
	kept      bool
	// beside are files with a graph's external data.
	beside  []string
	storage string
	source  *safetensors
}

// onnxFiles are where published folders have a graph.
var onnxFiles = []string{"model.onnx", "onnx/model.onnx"}

// readWeights finds the weights, makes the graph of them, and its products integers if that is wanted.
func readWeights(f *folder, r *recipe, o Options) (*weights, error) {
	w, err := findWeights(f, r, o)
	if err == nil && o.Precision == Int8 {
		err = w.inInt8()
	}
	if err != nil && w != nil {
		w.close()
	}
	return w, err
}

// inInt8 makes the products of the graph integers.
func (w *weights) inInt8() error {
	if len(w.beside) > 0 {
		return fmt.Errorf("%s: its weights are in files of their own, which are not read for products in int8", w.file)
	}
	products, err := inInt8(w.model)
	if err != nil {
		return fmt.Errorf("%s: %w", w.file, err)
	}
	w.kept = false
	w.storage = fmt.Sprintf("%d products of matrices computed in int8 (weights of 7 bits with a scale for each column, states of 8 bits with a scale for each "+
		"token, made as the graph runs); the rest %s", products, w.storage)
	return nil
}

// findWeights finds the weights and makes the graph of them.
func findWeights(f *folder, r *recipe, o Options) (*weights, error) {
	graph := ""
	for _, name := range onnxFiles {
		if graph == "" && f.has(name) {
			graph = name
		}
	}
	tensors := f.has("model.safetensors") || f.has("model.safetensors.index.json")
	switch {
	case o.Weights == "onnx" && graph == "":
		return nil, fmt.Errorf("%s has no model.onnx and no onnx/model.onnx", f.dir)
	case o.Weights == "onnx" || (o.Weights == "" && !tensors && graph != ""):
		return readONNX(f, r, graph, o)
	}
	w := &weights{file: "model.safetensors", storage: "fp16, computed in fp32"}
	if o.Precision == FP32 {
		w.storage = "fp32"
	}
	var err error
	if w.source, err = openSafetensors(f); err != nil {
		return nil, err
	}
	if !f.has(w.file) {
		w.file = "model.safetensors.index.json"
	}
	if w.sum, err = sha256Of(f.path(w.file)); err == nil {
		w.model, err = build(f, r, w.source, o)
	}
	if err != nil {
		w.close()
		if graph != "" {
			return nil, fmt.Errorf("%w (--weights onnx takes %s)", err, graph)
		}
		return nil, err
	}
	return w, nil
}

func (w *weights) close() {
	if w.source != nil {
		w.source.close()
	}
}

// mostInOneFile is what a protobuf file can hold, less what is not weights.
var mostInOneFile = 1<<31 - 1<<26

// save writes the graph as model.onnx, and where it is too large for one file its weights beside it.
func (w *weights) save(f *folder, dir string) error {
	path := filepath.Join(dir, "model.onnx")
	for _, name := range w.beside {
		if err := copyFile(filepath.Join(filepath.Dir(f.path(w.file)), name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if w.kept {
		return copyFile(f.path(w.file), path)
	}
	size := 0
	for _, t := range w.model.Graph.Initializer {
		size += len(t.RawData)
	}
	if size > mostInOneFile {
		if err := moveOut(w.model, dir, "model.onnx.data"); err != nil {
			return err
		}
	}
	data, err := proto.Marshal(w.model)
	if err != nil {
		return fmt.Errorf("model.onnx: %w", err)
	}
	return os.WriteFile(path, data, 0o644)
}

// moveOut writes the large tensors into a file of their own, each at a multiple of 4,096 bytes so that it can be
// mapped.
func moveOut(m *onnxpb.ModelProto, dir, name string) (err error) {
	file, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	at := int64(0)
	for _, t := range m.Graph.Initializer {
		if len(t.RawData) < 1024 {
			continue
		}
		if _, err := file.WriteAt(t.RawData, at); err != nil {
			return err
		}
		t.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
		for _, fact := range [][2]string{{"location", name}, {"offset", strconv.FormatInt(at, 10)}, {"length", strconv.Itoa(len(t.RawData))}} {
			t.ExternalData = append(t.ExternalData, &onnxpb.StringStringEntryProto{Key: &fact[0], Value: &fact[1]})
		}
		at += (int64(len(t.RawData)) + 4095) &^ 4095
		t.RawData = nil
	}
	return nil
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

func sha256Of(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
