package modelimport

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"retort/orchestrator/triton"
)

// destination is where a new entry goes. force replaces an existing entry.
type destination struct {
	repository, name string
	force            bool
}

func (d destination) dir() string { return filepath.Join(d.repository, d.name) }

// checkFree refuses a destination that has an entry already.
func (d destination) checkFree() error {
	if _, err := os.Stat(d.dir()); err == nil && !d.force {
		return fmt.Errorf("%s already exists: replace it with --force or choose another name with --name", d.dir())
	}
	return nil
}

// install writes and checks an entry in a staging folder, then moves it to its place in one step, so a server that
// follows the repository never sees an incomplete entry.
func (d destination) install(write, check func(dir string) error) error {
	staging, release, err := makeStaging(d.repository, d.name)
	if err != nil {
		return err
	}
	defer release()
	dir := filepath.Join(staging, "entry")
	if err := errors.Join(os.Mkdir(dir, 0o755), os.Chmod(dir, 0o755), write(dir)); err != nil {
		return err
	}
	if err := check(dir); err != nil {
		return fmt.Errorf("the new entry failed its check and was not added to the repository: %w", err)
	}
	return replaceFolder(dir, d.dir())
}

// readBack reads an entry as readConfig does, and compares the tensors of its graph with those of config.pbtxt.
func readBack(dir, name string, parameters []Parameter) (*triton.Model, error) {
	model, err := readConfig(dir, name, parameters)
	if err != nil {
		return nil, err
	}
	if err := checkGraph(filepath.Join(dir, "1", "model.onnx"), model.Config); err != nil {
		return nil, fmt.Errorf("model.onnx: %w", err)
	}
	model.Inputs = withBatch(model.Inputs)
	model.Outputs = withBatch(model.Outputs)
	return model, nil
}

// readConfig reads the config.pbtxt of an entry as Triton will, and compares its name and parameters with the ones
// given.
func readConfig(dir, name string, parameters []Parameter) (*triton.Model, error) {
	config, err := parseConfig(dir)
	if err != nil {
		return nil, err
	}
	const hint = "write the name and each parameter on a line of its own, as in the shipped entries"
	if config.Name != name {
		return nil, fmt.Errorf("config.pbtxt: name is %q, not %q; %s", config.Name, name, hint)
	}
	for _, p := range parameters {
		if value := config.Parameters[p.Key]; value != p.Value {
			return nil, fmt.Errorf("config.pbtxt: parameter %s is %q, not %q; %s", p.Key, value, p.Value, hint)
		}
	}
	return &triton.Model{
		Name:     name,
		Versions: []string{"1"},
		Config:   config,
		Dir:      dir,
		Inputs:   config.Inputs,
		Outputs:  config.Outputs,
	}, nil
}

// parseConfig reads the config.pbtxt of an entry.
func parseConfig(dir string) (*triton.ModelConfig, error) {
	const name = "config.pbtxt"
	text, err := readBounded(filepath.Join(dir, name), name, maxTextFile)
	if err != nil {
		return nil, err
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return config, nil
}

// withBatch adds the batch dimension to the shapes of tensors.
func withBatch(tensors []triton.TensorInfo) []triton.TensorInfo {
	tensors = slices.Clone(tensors)
	for i := range tensors {
		tensors[i].Shape = append([]int64{-1}, tensors[i].Shape...)
	}
	return tensors
}

// checkGraph compares the tensors of a graph with those of config.pbtxt.
func checkGraph(path string, config *triton.ModelConfig) error {
	m, err := readProto(path)
	if err != nil {
		return err
	}
	for _, t := range inputs(m.Graph) {
		if _, ok := config.Input(t.GetName()); !ok {
			return fmt.Errorf("config.pbtxt has no input %s", t.GetName())
		}
	}
	for _, want := range config.Outputs {
		t := findOutput(m.Graph, want.Name)
		if t == nil {
			return fmt.Errorf("config.pbtxt has an output %s, the graph has %v", want.Name, outputNames(m.Graph))
		}
		element := int32(onnxFloat)
		if want.Datatype == triton.INT64 {
			element = onnxInt64
		}
		last := dims(t)[len(dims(t))-1]
		if elementType(t) != element || (last > 0 && int64(last) != want.Shape[len(want.Shape)-1]) {
			return fmt.Errorf("output %s has element type %d and shape %v; config.pbtxt has shape %v",
				want.Name, elementType(t), dims(t), want.Shape)
		}
	}
	return nil
}

func copyFile(from, to string) error {
	in, err := openRegular(from)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(from), err)
	}
	defer in.Close()
	return copyTo(in, to)
}

// copyTo creates a file with the content of another, and its folder if that is missing.
func copyTo(in io.Reader, to string) (err error) {
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
	file, err := openRegular(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
