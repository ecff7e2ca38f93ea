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
		if err := copyExternal(filepath.Dir(m.path(f)), name, dir); err != nil {
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
