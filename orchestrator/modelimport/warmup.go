package modelimport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Triton runs the requests of model_warmup before a model is ready, so that no client waits for the memory that the
// first run allocates. It reads their tensors from the folder warmup of the entry.
const (
	warmupFolder = "warmup"
	warmupFile   = "ones"
	warmupTokens = 128
)

// writeWarmup writes the tensor of the warm-up: ones, which are tokens of every vocabulary.
func (e *entry) writeWarmup(dir string) error {
	data := make([]byte, 0, 8*warmupTokens)
	for range e.warmupLength() {
		data = binary.LittleEndian.AppendUint64(data, 1)
	}
	dir = filepath.Join(dir, warmupFolder)
	return errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, warmupFile), data, 0o644))
}

func (e *entry) warmupLength() int { return min(warmupTokens, e.recipe.maxLength) }

// warmupConfig returns the part of config.pbtxt about the warm-up.
func (e *entry) warmupConfig() string {
	var b strings.Builder
	b.WriteString("# Before the model is ready, Triton runs it once.\nmodel_warmup [ {\n  name: \"first\"  batch_size: 1\n")
	for _, t := range inputs(e.model.proto.Graph) {
		content := fmt.Sprintf("input_data_file: %q", warmupFile)
		if t.GetName() == inputTypes {
			content = "zero_data: true"
		}
		fmt.Fprintf(&b, "  inputs { key: %-16q value { data_type: TYPE_INT64  dims: [ %d ]  %s } }\n",
			t.GetName(), e.warmupLength(), content)
	}
	b.WriteString("} ]\n\n")
	return b.String()
}

// copyWarmup copies the tensors of the warm-up of an entry, if it has any.
func copyWarmup(source, dir string) error {
	files, err := os.ReadDir(filepath.Join(source, warmupFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, file := range files {
		name := filepath.Join(warmupFolder, file.Name())
		err = errors.Join(err, copyFile(filepath.Join(source, name), filepath.Join(dir, name)))
	}
	return err
}
