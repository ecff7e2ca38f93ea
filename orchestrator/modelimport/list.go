package modelimport

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"
)

// Entry describes an entry of a model repository.
type Entry struct {
	ID        string `json:"id"`
	API       string `json:"api,omitempty"` // empty for a model of direct clients of Triton
	Name      string `json:"entry"`
	Bytes     int64  `json:"bytes"`               // of all files
	Precision string `json:"precision,omitempty"` // of the newest ONNX graph
	Problem   string `json:"problem,omitempty"`   // why config.pbtxt cannot be read
}

// List returns the entries of a repository by API, id and name.
func List(repository string) ([]Entry, error) {
	files, err := os.ReadDir(repository)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, file := range files {
		dir := filepath.Join(repository, file.Name())
		if strings.HasPrefix(file.Name(), ".") || !exists(filepath.Join(dir, "config.pbtxt")) {
			continue
		}
		e := Entry{ID: file.Name(), Name: file.Name(), Precision: storedPrecision(dir)}
		e.Bytes = folderSize(dir)
		if config, err := parseConfig(dir); err != nil {
			e.Problem = err.Error()
		} else {
			e.API = config.Parameters["retort_api"]
			e.ID = cmp.Or(config.Parameters["model_id"], e.Name)
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.API, b.API), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Name, b.Name))
	})
	return entries, nil
}

// folderSize returns the bytes of the files of a folder that can be read.
func folderSize(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if info, err := os.Stat(path); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}

// storedPrecision returns the precision of the weights in the newest graph of an entry, or "" if it has none.
func storedPrecision(dir string) string {
	version, err := newestVersion(dir)
	if err != nil {
		return ""
	}
	file, err := openRegular(filepath.Join(dir, version, "model.onnx"))
	if err != nil {
		return ""
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || info.Size() == 0 {
		return ""
	}
	// Only the headers of the tensors are read: weights can have gigabytes.
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return ""
	}
	defer func() { _ = unix.Munmap(data) }()
	precision := precisionFP32
	walk(data, 7, func(graph []byte) { // ModelProto.graph
		walk(graph, 5, func(tensor []byte) { // GraphProto.initializer
			switch kind, matrix := tensorHeader(tensor); {
			case (kind == onnxInt8 || kind == onnxUint8) && matrix:
				precision = precisionInt8
			case kind == onnxFloat16 && precision == precisionFP32:
				precision = precisionFP16
			}
		})
	})
	return precision
}

// tensorHeader returns the element type of a TensorProto, and whether it has more than one dimension.
func tensorHeader(tensor []byte) (kind uint64, matrix bool) {
	dimensions := 0
	for len(tensor) > 0 {
		n, wire, size := protowire.ConsumeTag(tensor)
		if size < 0 {
			return kind, dimensions > 1
		}
		tensor = tensor[size:]
		value, _ := protowire.ConsumeVarint(tensor)
		switch {
		case n == 1 && wire == protowire.BytesType: // dims, packed
			packed, _ := protowire.ConsumeBytes(tensor)
			for len(packed) > 0 {
				_, length := protowire.ConsumeVarint(packed)
				if length < 0 {
					break
				}
				dimensions++
				packed = packed[length:]
			}
		case n == 1: // dims
			dimensions++
		case n == 2: // data_type
			kind = value
		}
		if size = protowire.ConsumeFieldValue(n, wire, tensor); size < 0 {
			return kind, dimensions > 1
		}
		tensor = tensor[size:]
	}
	return kind, dimensions > 1
}

// walk calls f with each field of a message that has a number and is a message itself.
func walk(message []byte, number protowire.Number, f func([]byte)) {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return
		}
		message = message[size:]
		if size = protowire.ConsumeFieldValue(n, kind, message); size < 0 {
			return
		}
		if n == number && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			f(value)
		}
		message = message[size:]
	}
}

// Remove removes a model, named by its public id, or by the name of its only entry. It returns its entries. Servers
// never see a part of an entry.
func Remove(repository, name string) ([]Entry, error) {
	all, err := List(repository)
	if err != nil {
		return nil, err
	}
	entries, err := entriesOf(all, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", repository, err)
	}
	trash, release, err := makeStaging(repository, "removed")
	if err != nil {
		return nil, err
	}
	defer release()
	for i, e := range entries {
		if err := os.Rename(filepath.Join(repository, e.Name), filepath.Join(trash, e.Name)); err != nil {
			for _, moved := range entries[:i] {
				back := os.Rename(filepath.Join(trash, moved.Name), filepath.Join(repository, moved.Name))
				err = errors.Join(err, back)
			}
			return nil, err
		}
	}
	return entries, nil
}

// entriesOf returns the entries of a model that is named by its id, or by its only entry.
func entriesOf(all []Entry, name string) ([]Entry, error) {
	var model []Entry
	for _, e := range all {
		if e.ID == name {
			model = append(model, e)
		}
	}
	i := slices.IndexFunc(all, func(e Entry) bool { return e.Name == name })
	switch {
	case i >= 0 && len(model) > 0 && !slices.Contains(model, all[i]):
		return nil, fmt.Errorf("%q is the id of a model and the entry of another model, %s", name, all[i].ID)
	case len(model) > 0:
		return model, nil
	case i < 0:
		return nil, fmt.Errorf("no model has the id or the entry %q", name)
	}
	for _, e := range all {
		if e.ID == all[i].ID {
			model = append(model, e)
		}
	}
	if len(model) > 1 {
		var names []string
		for _, e := range model {
			names = append(names, e.Name)
		}
		return nil, fmt.Errorf("%s is one of the entries of the model %s (%s), which is removed as a whole, by its id",
			name, all[i].ID, strings.Join(names, ", "))
	}
	return model, nil
}
