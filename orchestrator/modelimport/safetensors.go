package modelimport

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"retort/orchestrator/triton"
)

// Files with the weights of a model: one file, or an index that names several.
const (
	tensorsFile  = "model.safetensors"
	tensorsIndex = "model.safetensors.index.json"
)

// safetensors are the weights of a model. A file has the length of a JSON header in 8 bytes, the header, and the data
// (https://github.com/huggingface/safetensors#format).
type safetensors struct {
	files   []*os.File
	tensors map[string]location
	onRead  func(bytes int) // called after each tensor; may be nil
}

// location is where a tensor is stored.
type location struct {
	file   *os.File
	name   string   // of the file, for errors
	start  int64    // in the file
	DType  string   `json:"dtype"`
	Shape  []int64  `json:"shape"`
	Offset [2]int64 `json:"data_offsets"` // start and end, from the end of the header
}

// maxHeader bounds the memory for the header of a damaged file, in bytes. The reference has the same limit.
const maxHeader = 100_000_000

// datatypes are the supported types of weights by dtype.
var datatypes = map[string]triton.Datatype{
	"F16":  triton.FP16,
	"BF16": triton.BF16,
	"F32":  triton.FP32,
	"F64":  triton.FP64,
}

func openSafetensors(f *folder) (s *safetensors, err error) {
	names := []string{tensorsFile}
	var index struct {
		Files map[string]string `json:"weight_map"`
	}
	if !f.has(names[0]) {
		ok, err := f.readJSON(tensorsIndex, &index)
		if err != nil || !ok {
			return nil, errors.Join(err, missingWeights(f))
		}
		names = nil
		for _, name := range index.Files {
			if !filepath.IsLocal(name) {
				return nil, fmt.Errorf("%s: weight_map names %q, which is outside the folder", tensorsIndex, name)
			}
			names = append(names, name)
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	s = &safetensors{tensors: map[string]location{}}
	for _, name := range names {
		if err := s.open(f.path(name), name); err != nil {
			s.close()
			if index.Files != nil && errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s: weight_map names %s, which the folder does not have", tensorsIndex, name)
			}
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return s, nil
}

func missingWeights(f *folder) error {
	if f.has("pytorch_model.bin") {
		return fmt.Errorf("%s has only pytorch_model.bin, which is not supported: "+
			"save the model as model.safetensors", f.dir)
	}
	return fmt.Errorf("%s has no weights: model.safetensors, model.onnx or onnx/model.onnx", f.dir)
}

// open adds the tensors of a file.
func (s *safetensors) open(path, name string) error {
	file, err := openRegular(path)
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	var length uint64
	err = binary.Read(file, binary.LittleEndian, &length)
	if err != nil || length > maxHeader || int64(length) > info.Size()-8 {
		return fmt.Errorf("not a safetensors file: a header of %d bytes does not fit in the %d bytes of the file",
			length, info.Size())
	}
	var header map[string]json.RawMessage
	if err := json.NewDecoder(io.LimitReader(file, int64(length))).Decode(&header); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	data := 8 + int64(length)
	remaining := info.Size() - data
	for tensor, text := range header {
		if tensor == "__metadata__" {
			continue
		}
		t := location{file: file, name: name}
		if err := json.Unmarshal(text, &t); err != nil {
			return fmt.Errorf("header: %s: %w", tensor, err)
		}
		t.start = data + t.Offset[0]
		if t.Offset[0] < 0 || t.Offset[1] < t.Offset[0] || t.Offset[1] > info.Size()-data {
			return fmt.Errorf("header: %s: data_offsets %v are outside the file", tensor, t.Offset)
		}
		if remaining -= t.Offset[1] - t.Offset[0]; remaining < 0 {
			return fmt.Errorf("header: the tensors have more bytes than the %d of the file", info.Size()-data)
		}
		if _, ok := s.tensors[tensor]; ok {
			return fmt.Errorf("header: %s is in two files", tensor)
		}
		s.tensors[tensor] = t
	}
	return nil
}

// floats reads a tensor, which must have the given shape.
func (s *safetensors) floats(name string, shape ...int64) ([]float32, error) {
	t, ok := s.tensors[name]
	if !ok {
		return nil, fmt.Errorf("the weights have no tensor %s", name)
	}
	if !slices.Equal(t.Shape, shape) {
		return nil, fmt.Errorf("%s: tensor %s has shape %v, but config.json needs %v", t.name, name, t.Shape, shape)
	}
	datatype, ok := datatypes[t.DType]
	if !ok {
		return nil, fmt.Errorf("%s: tensor %s: dtype %s is not supported, only F16, BF16, F32 and F64",
			t.name, name, t.DType)
	}
	raw := make([]byte, t.Offset[1]-t.Offset[0])
	if _, err := t.file.ReadAt(raw, t.start); err != nil {
		return nil, fmt.Errorf("%s: tensor %s: %w", t.name, name, err)
	}
	if s.onRead != nil {
		s.onRead(len(raw))
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

// size returns the bytes of all tensors.
func (s *safetensors) size() (bytes int64) {
	for _, t := range s.tensors {
		bytes += t.Offset[1] - t.Offset[0]
	}
	return bytes
}
