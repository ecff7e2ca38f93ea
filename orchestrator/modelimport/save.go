package modelimport

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
	"retort/orchestrator/triton"
)

// maxFileSize bounds the weights in model.onnx, in bytes. Protobuf limits a file to 2 GiB, and needs its size in memory
// once more; ONNX Runtime maps external data instead of reading it.
var maxFileSize = 512 << 20

// save creates dir with model.onnx, and files with external data if it needs any.
func (m *model) save(f *folder, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	path := filepath.Join(dir, "model.onnx")
	for _, name := range m.external {
		if err := copyFile(filepath.Join(filepath.Dir(m.path(f)), name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if m.unchanged {
		return copyFile(m.path(f), path)
	}
	size := 0
	for _, t := range m.proto.Graph.Initializer {
		size += len(t.RawData)
	}
	if size > maxFileSize {
		if err := externalize(m.proto, dir, "model.onnx.data"); err != nil {
			return err
		}
	}
	data, err := proto.Marshal(m.proto)
	if err != nil {
		return fmt.Errorf("model.onnx: %w", err)
	}
	return os.WriteFile(path, data, 0o644)
}

// path returns the path of the source.
func (m *model) path(f *folder) string {
	if m.dir != "" {
		return filepath.Join(m.dir, m.file)
	}
	return f.path(m.file)
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

// externalSizes are the sizes of the element types that weights have, in bytes.
var externalSizes = map[int32]int64{onnxFloat: 4, onnxFloat16: 2, onnxInt64: 8, onnxInt8: 1, onnxUint8: 1, onnxBool: 1}

// internalize reads the external data of a graph in dir, the inverse of externalize.
func internalize(m *onnxpb.ModelProto, dir string) error {
	remaining := map[string]int64{} // bytes of each file that no tensor has used
	for _, t := range m.Graph.Initializer {
		if t.GetDataLocation() != onnxpb.TensorProto_EXTERNAL {
			continue
		}
		if err := readExternal(t, dir, remaining); err != nil {
			return fmt.Errorf("external data of %s: %w", t.GetName(), err)
		}
	}
	return nil
}

// readExternal reads the external data of a tensor. Tensors that share bytes are refused: a small file would fill the
// memory.
func readExternal(t *onnxpb.TensorProto, dir string, remaining map[string]int64) error {
	facts := map[string]string{"offset": "0"}
	for _, fact := range t.ExternalData {
		facts[fact.GetKey()] = fact.GetValue()
	}
	name := facts["location"]
	if !filepath.IsLocal(name) {
		return fmt.Errorf("location %q is outside the folder", name)
	}
	file, err := openRegular(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if _, ok := remaining[name]; !ok {
		remaining[name] = info.Size()
	}
	offset, err := strconv.ParseInt(facts["offset"], 10, 64)
	if err != nil || offset < 0 || offset > info.Size() {
		return fmt.Errorf("offset %q is not in %s, which has %d bytes", facts["offset"], name, info.Size())
	}
	length := info.Size() - offset
	if text, ok := facts["length"]; ok {
		if length, err = strconv.ParseInt(text, 10, 64); err != nil || length < 0 || length > info.Size()-offset {
			return fmt.Errorf("length %q is not in %s, which has %d bytes after offset %d",
				text, name, info.Size()-offset, offset)
		}
	}
	if size := externalSizes[t.GetDataType()]; size > 0 {
		elements := int64(triton.Tensor{Shape: t.Dims}.Elements())
		if length != elements*size {
			return fmt.Errorf("%d bytes do not fit the shape %v of elements of %d bytes", length, t.Dims, size)
		}
	}
	if remaining[name] -= length; remaining[name] < 0 {
		return fmt.Errorf("the tensors in %s are larger than the file", name)
	}
	t.RawData = make([]byte, length)
	if _, err := file.ReadAt(t.RawData, offset); err != nil {
		return err
	}
	t.DataLocation = nil
	t.ExternalData = nil
	return nil
}
