package modelimport

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"retort/orchestrator/triton"
)

// QuantizeOptions are the arguments and flags of retort model quantize.
type QuantizeOptions struct {
	Source string `arg:"" name:"entry" help:"Name of an entry of the embedding or ranking API."`

	ID         string `name:"id" required:"" placeholder:"NAME" env:"-" help:"Public id of the new entry, which clients send as model."`
	Name       string `placeholder:"ENTRY" env:"-" help:"Name of the new entry's folder; by default the old name with _int8."`
	Repository string `type:"path" placeholder:"DIR" env:"-" help:"Model repository with both entries; by default --model-repository."`
	Force      bool   `env:"-" help:"Replace an existing entry."`

	Openers map[string]func(*triton.Model) error `kong:"-"` // by API: open an entry as the gateway does
	Now     time.Time                            `kong:"-"` // becomes the creation time of the model
}

// Quantize creates an entry that computes in int8 what the newest version of another entry computes in fp32. Tokenizer
// and other parameters are those of the source.
func Quantize(o QuantizeOptions) (*Result, error) {
	if o.Name == "" {
		o.Name = o.Source + "_int8"
	}
	source := filepath.Join(o.Repository, o.Source)
	text, err := os.ReadFile(filepath.Join(source, "config.pbtxt"))
	if err != nil || !filepath.IsLocal(o.Source) {
		return nil, fmt.Errorf("the repository %s has no entry %q", o.Repository, o.Source)
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Source, err)
	}
	api := config.Parameters["retort_api"]
	if api != apiEmbedding && api != apiRanking {
		return nil, fmt.Errorf("%s: api %q: only models of embedding and ranking can be quantized", o.Source, api)
	}
	if _, err := checkName(o.ID, o.Name); err != nil {
		return nil, err
	}
	if config.OnGPU {
		return nil, fmt.Errorf("%s: its instance_group has KIND_GPU, but products in int8 are for CPUs", o.Source)
	}
	if config.Parameters["model_id"] == o.ID {
		return nil, fmt.Errorf("id: %s is the public id of %s: the new entry needs its own", o.ID, o.Source)
	}
	d := destination{repository: o.Repository, name: o.Name, force: o.Force}
	if err := d.checkFree(); err != nil {
		return nil, err
	}
	parameters := []Parameter{{"retort_api", api}, {"model_id", o.ID}}
	write := func(dir string) error {
		if err := o.write(source, dir, text); err != nil {
			return fmt.Errorf("%s: %w", o.Source, err)
		}
		return nil
	}
	check := func(dir string) error {
		model, err := readBack(dir, o.Name, parameters)
		if open := o.Openers[api]; err == nil && open != nil {
			err = open(model)
		}
		return err
	}
	if err := d.install(write, check); err != nil {
		return nil, err
	}
	return &Result{Dir: d.dir(), ID: o.ID, Parameters: append(parameters, Parameter{"source", o.Source})}, nil
}

const quantizedCard = "# %s\n\n" +
	"%s in integers. Public id `%s`.\n\n## Model details\n\n" +
	"| | |\n|---|---|\n" +
	"| made by | `retort model quantize`, %s |\n" +
	"| source | entry `%s`, version %s, `model.onnx` with sha256 `%s`; its card has licence, training, limits |\n" +
	"| arithmetic | %s |\n\n" +
	"The result of a row does not depend on the other rows of its batch. It differs a little from the result of the " +
	"source: do not mix vectors of both in one index.\n\n" +
	"## Evaluation\n\nNot measured here.\n"

// trainingFiles are files that make the graph of an entry (model_repository/README.md#weights), but not its graph in
// int8.
var trainingFiles = []string{"model.safetensors", "config.json"}

// write copies the files of the source except its versions, card, configuration and trainingFiles, and creates the new
// ones.
func (o QuantizeOptions) write(source, dir string, config []byte) error {
	version, err := newestVersion(source)
	if err != nil {
		return err
	}
	graph := filepath.Join(source, version, "model.onnx")
	sum, err := sha256Of(graph)
	if err != nil {
		return err
	}
	m := &model{file: "model.onnx", storage: "as in the source"}
	if m.proto, err = readProto(graph); err != nil {
		return err
	}
	if err := m.quantize(filepath.Dir(graph)); err != nil {
		return err
	}
	if err := m.save(nil, filepath.Join(dir, "1")); err != nil {
		return err
	}
	files, err := os.ReadDir(source)
	if err != nil {
		return err
	}
	for _, file := range files {
		if !file.Type().IsRegular() || slices.Contains([]string{".md", ".pbtxt"}, filepath.Ext(file.Name())) ||
			slices.Contains(trainingFiles, file.Name()) {
			continue
		}
		if err := copyFile(filepath.Join(source, file.Name()), filepath.Join(dir, file.Name())); err != nil {
			return err
		}
	}
	if err := copyWarmup(source, dir); err != nil {
		return err
	}
	card := fmt.Appendf(nil, quantizedCard,
		o.Name, o.Source, o.ID, o.Now.UTC().Format(time.DateOnly), o.Source, version, sum, m.storage)
	return errors.Join(
		os.WriteFile(filepath.Join(dir, "CARD.md"), card, 0o644),
		os.WriteFile(filepath.Join(dir, "config.pbtxt"), o.config(config), 0o644),
	)
}

// newestVersion returns the highest version of an entry that has a graph.
func newestVersion(entry string) (string, error) {
	graphs, err := fs.Glob(os.DirFS(entry), "*/model.onnx")
	if err != nil {
		return "", err
	}
	newest := 0
	for _, path := range graphs {
		if n, err := strconv.Atoi(filepath.Dir(path)); err == nil {
			newest = max(newest, n)
		}
	}
	if newest == 0 {
		return "", errors.New("no version has a model.onnx")
	}
	return strconv.Itoa(newest), nil
}

// The lines of config.pbtxt that differ between source and copy.
var (
	commentAtTop  = regexp.MustCompile(`(?m)\A(#.*\n)+`)
	nameLine      = regexp.MustCompile(`(?m)^name:.*$`)
	parameterLine = `(?m)^(parameters\s*\{\s*key:\s*"%s"\s*value\s*\{\s*string_value:\s*)"[^"]*"`
)

// config replaces name, public id, creation time and the comment at the top in the configuration of the source.
func (o QuantizeOptions) config(text []byte) []byte {
	comment := "# Made by retort model quantize from " + o.Source +
		". Tensors and parameters: ../README.md; arithmetic: CARD.md.\n"
	text = append([]byte(comment), commentAtTop.ReplaceAll(text, nil)...)
	text = nameLine.ReplaceAllLiteral(text, fmt.Appendf(nil, "name: %q", o.Name))
	for key, value := range map[string]string{"model_id": o.ID, "created": strconv.FormatInt(o.Now.Unix(), 10)} {
		line := regexp.MustCompile(fmt.Sprintf(parameterLine, key))
		text = line.ReplaceAllFunc(text, func(match []byte) []byte {
			return fmt.Appendf(nil, "%s%q", line.FindSubmatch(match)[1], value)
		})
	}
	return bytes.TrimLeft(text, "\n")
}
