package modelimport

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
)

// weights are the graph of a model and its source.
type weights struct {
	model     *onnxpb.ModelProto
	file      string   // source, in the folder
	sha256    string   // of file
	unchanged bool     // the entry gets a byte-for-byte copy of file
	external  []string // files with external data of the graph
	storage   string   // for the card
	tensors   *safetensors
}

// onnxFiles are the places of a graph in a published folder.
var onnxFiles = []string{"model.onnx", "onnx/model.onnx"}

// readWeights reads or builds the graph, and quantizes its products for Int8.
func readWeights(f *folder, r *recipe, o Options) (*weights, error) {
	if o.API == Ranking && len(f.Labels) > 1 {
		return nil, fmt.Errorf("config.json: id2label has %d labels, but a ranker returns one logit", len(f.Labels))
	}
	w, err := findWeights(f, r, o)
	if err != nil {
		return nil, err
	}
	if o.Precision == Int8 {
		if err := w.quantize(); err != nil {
			w.close()
			return nil, err
		}
	}
	return w, nil
}

// quantize makes the matrix products of the graph products of integers.
func (w *weights) quantize() error {
	if len(w.external) > 0 {
		return fmt.Errorf("%s: its weights are in other files (%v): products in int8 need them in the same file",
			w.file, w.external)
	}
	products, err := quantizeProducts(w.model)
	if err != nil {
		return fmt.Errorf("%s: %w", w.file, err)
	}
	w.unchanged = false
	w.storage = fmt.Sprintf("%d products of matrices computed in int8 (weights in 7 bits with a scale per column, "+
		"states in 8 bits with a scale per token, computed at run time); the rest %s", products, w.storage)
	return nil
}

// findWeights reads the ONNX graph of the folder, or builds one from weights in safetensors.
func findWeights(f *folder, r *recipe, o Options) (*weights, error) {
	graph := ""
	for _, name := range onnxFiles {
		if graph == "" && f.has(name) {
			graph = name
		}
	}
	hasTensors := f.has(tensorsFile) || f.has(tensorsIndex)
	switch {
	case o.Weights == "onnx" && graph == "":
		return nil, fmt.Errorf("%s has no model.onnx and no onnx/model.onnx", f.dir)
	case o.Weights == "onnx" || (o.Weights == "" && !hasTensors && graph != ""):
		return readONNX(f, r, graph, o)
	}
	w := &weights{file: tensorsFile, storage: "fp16, computed in fp32"}
	if o.Precision == FP32 {
		w.storage = "fp32"
	}
	var err error
	if w.tensors, err = openSafetensors(f); err != nil {
		return nil, err
	}
	if !f.has(w.file) {
		w.file = tensorsIndex
	}
	if w.sha256, err = sha256Of(f.path(w.file)); err == nil {
		w.model, err = buildModel(f, r, w.tensors, o)
	}
	if err != nil {
		w.close()
		if graph != "" {
			return nil, fmt.Errorf("%w (--weights onnx uses %s instead)", err, graph)
		}
		return nil, err
	}
	return w, nil
}

func (w *weights) close() {
	if w.tensors != nil {
		w.tensors.close()
	}
}

// maxFileSize bounds the weights in model.onnx: protobuf limits a file to 2 GiB, of which 64 MiB are for the nodes.
var maxFileSize = 1<<31 - 1<<26

// save creates dir with model.onnx, and files with external data if it needs any.
func (w *weights) save(f *folder, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, "model.onnx")
	for _, name := range w.external {
		if err := copyFile(filepath.Join(filepath.Dir(f.path(w.file)), name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if w.unchanged {
		return copyFile(f.path(w.file), path)
	}
	size := 0
	for _, t := range w.model.Graph.Initializer {
		size += len(t.RawData)
	}
	if size > maxFileSize {
		if err := externalize(w.model, dir, "model.onnx.data"); err != nil {
			return err
		}
	}
	data, err := proto.Marshal(w.model)
	if err != nil {
		return fmt.Errorf("model.onnx: %w", err)
	}
	return os.WriteFile(path, data, 0o644)
}

// externalize moves large tensors from the graph into a file. Offsets are multiples of 4,096 bytes, so that the file
// can be mapped into memory.
func externalize(m *onnxpb.ModelProto, dir, name string) (err error) {
	file, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	offset := int64(0)
	for _, t := range m.Graph.Initializer {
		size := len(t.RawData)
		if size < 1024 {
			continue
		}
		if _, err := file.WriteAt(t.RawData, offset); err != nil {
			return err
		}
		t.DataLocation = onnxpb.TensorProto_EXTERNAL.Enum()
		for _, fact := range [][2]string{
			{"location", name}, {"offset", strconv.FormatInt(offset, 10)}, {"length", strconv.Itoa(size)},
		} {
			t.ExternalData = append(t.ExternalData, &onnxpb.StringStringEntryProto{Key: &fact[0], Value: &fact[1]})
		}
		offset += (int64(size) + 4095) &^ 4095
		t.RawData = nil
	}
	return nil
}
