package modelimport

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"retort/orchestrator/modelimport/onnxpb"
)

// externalFiles are the open files with external data of a graph, in the folder of its file.
type externalFiles struct {
	dir   string
	files map[string]*externalFile
}

type externalFile struct {
	*os.File
	size      int64
	remaining int64 // bytes that internalize has not read
}

func newExternalFiles(dir string) *externalFiles {
	return &externalFiles{dir: dir, files: map[string]*externalFile{}}
}

func (e *externalFiles) close() {
	for _, file := range e.files {
		_ = file.Close()
	}
}

// open returns a file of the folder.
func (e *externalFiles) open(name string) (*externalFile, error) {
	if file, ok := e.files[name]; ok {
		return file, nil
	}
	file, err := openInside(e.dir, name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	e.files[name] = &externalFile{File: file, size: info.Size(), remaining: info.Size()}
	return e.files[name], nil
}

// find returns where the external data of a tensor is. It refuses data outside the folder or the file, and a length
// that is not the size of the tensor.
func (e *externalFiles) find(t *onnxpb.TensorProto) (file *externalFile, offset, length int64, err error) {
	facts := map[string]string{"offset": "0"}
	for _, fact := range t.ExternalData {
		facts[fact.GetKey()] = fact.GetValue()
	}
	name := facts["location"]
	if file, err = e.open(name); err != nil {
		return nil, 0, 0, err
	}
	if length, err = tensorBytes(t); err != nil {
		return nil, 0, 0, err
	}
	if text, ok := facts["length"]; ok && text != strconv.FormatInt(length, 10) {
		return nil, 0, 0, fmt.Errorf("length %q is not the %d bytes of a tensor of shape %v", text, length, t.Dims)
	}
	offset, err = strconv.ParseInt(facts["offset"], 10, 64)
	if err != nil || offset < 0 || offset > file.size || length > file.size-offset {
		return nil, 0, 0, fmt.Errorf("%d bytes at offset %q are not in %s, which has %d bytes",
			length, facts["offset"], name, file.size)
	}
	return file, offset, length, nil
}

// elementBits are the sizes of the elements of tensors in bits, by ONNX's element type.
var elementBits = map[int32]int64{
	1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64, 14: 64, 15: 128, 16: 16,
	17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2,
}

// tensorBytes returns the size of the data of a tensor.
func tensorBytes(t *onnxpb.TensorProto) (int64, error) {
	bits, ok := elementBits[t.GetDataType()]
	if !ok {
		return 0, fmt.Errorf("element type %d has no external data", t.GetDataType())
	}
	elements := int64(1)
	for _, n := range t.Dims {
		if n < 0 || n > maxElements/max(1, elements) {
			return 0, fmt.Errorf("shape %v is impossible", t.Dims)
		}
		elements *= n
	}
	return (elements*bits + 7) / 8, nil
}

// externalTensors returns the tensors of a graph and of the graphs inside its nodes whose data is external.
func externalTensors(g *onnxpb.GraphProto) (found []*onnxpb.TensorProto) {
	tensors := slices.Clone(g.GetInitializer())
	for _, node := range g.GetNode() {
		for _, a := range node.Attribute {
			tensors = append(tensors, a.GetT())
			for _, inner := range append(a.Graphs, a.GetG()) {
				found = append(found, externalTensors(inner)...)
			}
		}
	}
	for _, t := range tensors {
		if t.GetDataLocation() == onnxpb.TensorProto_EXTERNAL {
			found = append(found, t)
		}
	}
	return found
}

// checkExternal returns the names of the files with external data of a graph, whose own file is in dir.
func checkExternal(g *onnxpb.GraphProto, dir string) (names []string, err error) {
	files := newExternalFiles(dir)
	defer files.close()
	for _, t := range externalTensors(g) {
		if _, _, _, err := files.find(t); err != nil {
			return nil, fmt.Errorf("external data of %s: %w", t.GetName(), err)
		}
	}
	return slices.Sorted(maps.Keys(files.files)), nil
}

// internalize reads the external data of a graph in dir, the inverse of externalize. Tensors that share bytes are
// refused: a small file would fill the memory.
func internalize(m *onnxpb.ModelProto, dir string) error {
	files := newExternalFiles(dir)
	defer files.close()
	for _, t := range externalTensors(m.Graph) {
		if err := files.read(t); err != nil {
			return fmt.Errorf("external data of %s: %w", t.GetName(), err)
		}
	}
	return nil
}

// read moves the external data of a tensor into it.
func (e *externalFiles) read(t *onnxpb.TensorProto) error {
	file, offset, length, err := e.find(t)
	if err != nil {
		return err
	}
	if file.remaining -= length; file.remaining < 0 {
		return fmt.Errorf("the tensors in %s are larger than the file", filepath.Base(file.Name()))
	}
	t.RawData = make([]byte, length)
	if _, err := io.ReadFull(io.NewSectionReader(file, offset, length), t.RawData); err != nil {
		return err
	}
	t.DataLocation = nil
	t.ExternalData = nil
	return nil
}

// copyExternal copies a file with external data into another folder.
func copyExternal(dir, name, to string) error {
	file, err := openInside(dir, name)
	if err != nil {
		return err
	}
	defer file.Close()
	return copyTo(file, filepath.Join(to, name))
}

// openInside opens a regular file of a folder, or a link to one in the folder. External data is copied or read as it
// is, so a link to another place could bring any file of this machine into an entry.
func openInside(dir, name string) (*os.File, error) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("location %q is outside the folder", name)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		if info, e := root.Lstat(name); e == nil && info.Mode().Type() == os.ModeSymlink {
			err = fmt.Errorf("%w: it is a link, which must not leave the folder (cp -rL copies a folder without links)", err)
		}
		return nil, err
	}
	return requireRegular(file)
}
