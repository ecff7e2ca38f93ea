package modelimport

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"retort/orchestrator/triton"
)

// safetensors are the tensors of a model: one file, or several that model.safetensors.index.json names. The format:
// eight bytes with the length of a JSON header, the header, the data
// (https://github.com/huggingface/safetensors#format).
type safetensors struct {
	files   []*os.File
	tensors map[string]stored
}

// stored is where a tensor is.
type stored struct {
	file   *os.File
	name   string // of the file
	at     int64
	DType  string   `json:"dtype"`
	Shape  []int64  `json:"shape"`
	Offset [2]int64 `json:"data_offsets"` // from the end of the header
}

// mostHeader bounds what a damaged file can ask for, as the reference does.
const mostHeader = 100_000_000

// datatypes of weights, by their name in the header.
var datatypes = map[string]triton.Datatype{"F16": triton.FP16, "BF16": triton.BF16, "F32": triton.FP32, "F64": triton.FP64}

func openSafetensors(f *folder) (s *safetensors, err error) {
	names := []string{"model.safetensors"}
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	if !f.has(names[0]) {
		found, err := f.json("model.safetensors.index.json", &index)
		if err != nil || !found {
			return nil, errors.Join(err, noWeights(f))
		}
		names = nil
		for _, name := range index.Files {
			if !filepath.IsLocal(name) {
				return nil, fmt.Errorf("model.safetensors.index.json: weight_map names %q, which is outside the folder", name)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	s = &safetensors{tensors: map[string]stored{}}
	for _, name := range names {
		if err := s.open(f.path(name), name); err != nil {
			s.close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

func noWeights(f *folder) error {
	if f.has("pytorch_model.bin") {
		return fmt.Errorf("%s has pytorch_model.bin only, which is not read: save the model as model.safetensors", f.dir)
	}
	return fmt.Errorf("%s has no weights: model.safetensors, model.onnx or onnx/model.onnx", f.dir)
}

// open adds a file's tensors.
func (s *safetensors) open(path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	var length uint64
	if err := binary.Read(file, binary.LittleEndian, &length); err != nil || length > mostHeader || int64(length) > info.Size()-8 {
		return fmt.Errorf("no safetensors file: the header's length %d does not fit the file's %d bytes", length, info.Size())
	}
	var header map[string]json.RawMessage
	if err := json.NewDecoder(io.LimitReader(file, int64(length))).Decode(&header); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	start := 8 + int64(length)
	for tensor, text := range header {
		if tensor == "__metadata__" {
			continue
		}
		t := stored{file: file, name: name}
		if err := json.Unmarshal(text, &t); err != nil {
			return fmt.Errorf("header: %s: %w", tensor, err)
		}
		t.at = start + t.Offset[0]
		if t.Offset[0] < 0 || t.Offset[1] < t.Offset[0] || start+t.Offset[1] > info.Size() {
			return fmt.Errorf("header: %s: data_offsets %v are outside the file", tensor, t.Offset)
		}
		if _, twice := s.tensors[tensor]; twice {
			return fmt.Errorf("header: %s is in two files", tensor)
		}
		s.tensors[tensor] = t
	}
	return nil
}

// floats reads a tensor of the shape wanted.
func (s *safetensors) floats(name string, shape ...int64) ([]float32, error) {
	t, ok := s.tensors[name]
	if !ok {
		return nil, fmt.Errorf("the weights have no tensor %s", name)
	}
	if !slices.Equal(t.Shape, shape) {
		return nil, fmt.Errorf("%s: tensor %s has shape %v, but config.json makes it %v", t.name, name, t.Shape, shape)
	}
	datatype, ok := datatypes[t.DType]
	if !ok {
		return nil, fmt.Errorf("%s: tensor %s: dtype %s is not known, only F16, BF16, F32 and F64", t.name, name, t.DType)
	}
	raw := make([]byte, t.Offset[1]-t.Offset[0])
	if _, err := t.file.ReadAt(raw, t.at); err != nil {
		return nil, fmt.Errorf("%s: tensor %s: %w", t.name, name, err)
	}
	values, err := triton.Raw(name, datatype, shape, raw).Floats()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	return values, nil
}

func (s *safetensors) close() {
	for _, file := range s.files {
		file.Close()
	}
}
