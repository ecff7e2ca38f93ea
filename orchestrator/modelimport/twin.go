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

	"google.golang.org/protobuf/proto"

	"retort/orchestrator/modelimport/onnxpb"
	"retort/orchestrator/triton"
)

// Twin is an entry wanted that computes in int8 what another computes in fp32.
type Twin struct {
	// Of is the name of the other entry; all else of it, its tokenizer and parameters, is the twin's too.
	Of string
	// ID is the twin's public id, Name that of its entry: by default the other's with _int8.
	ID, Name string
	// Repository is the model repository; Force replaces an entry in it.
	Repository string
	Force      bool
	// Openers open an entry as the gateway will, by its API.
	Openers map[string]func(*triton.Model) error
	// Now is written down as the time of the model.
	Now time.Time
}

// Quantize makes the twin of the newest version. As with Import it lies under a name that begins with a dot until it is
// whole and has been checked.
func Quantize(t Twin) (*Result, error) {
	if t.Name == "" {
		t.Name = t.Of + "_int8"
	}
	source := filepath.Join(t.Repository, t.Of)
	target := filepath.Join(t.Repository, t.Name)
	text, err := os.ReadFile(filepath.Join(source, "config.pbtxt"))
	if err != nil || !filepath.IsLocal(t.Of) {
		return nil, fmt.Errorf("the repository %s has no entry %q", t.Repository, t.Of)
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Of, err)
	}
	o := Options{API: config.Parameters["retort_api"], ID: t.ID, Name: t.Name, Now: t.Now, Open: t.Openers[config.Parameters["retort_api"]]}
	if _, err := o.entry(); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Of, err)
	}
	if config.Parameters["model_id"] == t.ID {
		return nil, fmt.Errorf("id: %s is the id of %s: the twin needs its own", t.ID, t.Of)
	}
	if _, err := os.Stat(target); err == nil && !t.Force {
		return nil, fmt.Errorf("%s exists already: --force replaces it, --name takes another", target)
	}
	made, err := os.MkdirTemp(t.Repository, "."+t.Name+".*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(made)
	if err := os.Chmod(made, 0o755); err != nil {
		return nil, err
	}
	if err := t.write(source, made, text); err != nil {
		return nil, fmt.Errorf("%s: %w", t.Of, err)
	}
	told, err := t.check(made, o)
	if err != nil {
		return nil, fmt.Errorf("the entry was made but fails its check, and was not put into the repository: %w", err)
	}
	if err := put(made, target); err != nil {
		return nil, err
	}
	return &Result{Dir: target, ID: t.ID, Told: told}, nil
}

// write copies the files beside the versions, less those about the other entry, and makes graph, card and
// configuration.
func (t Twin) write(source, dir string, config []byte) error {
	version, err := newest(source)
	if err != nil {
		return err
	}
	graph := filepath.Join(source, version, "model.onnx")
	sum, err := sha256Of(graph)
	if err != nil {
		return err
	}
	w := &weights{model: &onnxpb.ModelProto{}, file: "model.onnx", storage: "as in the graph it was made of"}
	data, err := os.ReadFile(graph)
	if err == nil {
		err = proto.Unmarshal(data, w.model)
	}
	if err == nil {
		err = w.inInt8()
	}
	if err != nil {
		return err
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "1"), 0o755), w.save(nil, filepath.Join(dir, "1"))); err != nil {
		return err
	}
	files, err := os.ReadDir(source)
	if err != nil {
		return err
	}
	for _, file := range files {
		if !file.Type().IsRegular() || slices.Contains([]string{".md", ".pbtxt"}, filepath.Ext(file.Name())) {
			continue
		}
		if err := copyFile(filepath.Join(source, file.Name()), filepath.Join(dir, file.Name())); err != nil {
			return err
		}
	}
	card := fmt.Sprintf("# %s\n\n%s in integers. Public id `%s`.\n\n| | |\n|---|---|\n| made by | `retort model quantize`, %s |\n"+
		"| source | entry `%s`, version %s, `model.onnx` with sha256 `%s`: licence, training and limits are in its card |\n| arithmetic | %s |\n\n"+
		"A row's result does not depend on the rows beside it. It is not the other entry's to the last digit: vectors of both must not be mixed in one index.\n\n"+
		"## Figures\n\nNot measured here.\n", t.Name, t.Of, t.ID, t.Now.UTC().Format("2006-01-02"), t.Of, version, sum, w.storage)
	return errors.Join(os.WriteFile(filepath.Join(dir, "CARD.md"), []byte(card), 0o644),
		os.WriteFile(filepath.Join(dir, "config.pbtxt"), t.config(config), 0o644))
}

// newest is the highest version of an entry that has a graph.
func newest(entry string) (string, error) {
	graphs, err := fs.Glob(os.DirFS(entry), "*/model.onnx")
	if err != nil {
		return "", err
	}
	best := 0
	for _, path := range graphs {
		if n, err := strconv.Atoi(filepath.Dir(path)); err == nil {
			best = max(best, n)
		}
	}
	if best == 0 {
		return "", errors.New("no version has a model.onnx")
	}
	return strconv.Itoa(best), nil
}

// The lines of config.pbtxt that are the entry's own.
var (
	nameLine  = regexp.MustCompile(`(?m)^name:.*$`)
	headLine  = regexp.MustCompile(`(?m)\A(#.*\n)+`)
	parameter = `(?m)^(parameters\s*\{\s*key:\s*"%s"\s*value\s*\{\s*string_value:\s*)"[^"]*"`
)

// config is the other entry's configuration with the twin's name, id and time.
func (t Twin) config(text []byte) []byte {
	head := "# Made by retort model quantize of " + t.Of + ". Tensors and parameters: ../README.md; arithmetic: CARD.md.\n"
	text = append([]byte(head), headLine.ReplaceAll(text, nil)...)
	text = nameLine.ReplaceAllLiteral(text, fmt.Appendf(nil, "name: %q", t.Name))
	for key, value := range map[string]string{"model_id": t.ID, "created": strconv.FormatInt(t.Now.Unix(), 10)} {
		line := regexp.MustCompile(fmt.Sprintf(parameter, key))
		text = line.ReplaceAllFunc(text, func(found []byte) []byte {
			return fmt.Appendf(nil, "%s%q", line.FindSubmatch(found)[1], value)
		})
	}
	return bytes.TrimLeft(text, "\n")
}

// check reads the twin back as Triton and the gateway will, and returns its parameters.
func (t Twin) check(dir string, o Options) ([]Parameter, error) {
	text, err := os.ReadFile(filepath.Join(dir, "config.pbtxt"))
	if err != nil {
		return nil, err
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		return nil, fmt.Errorf("config.pbtxt: %w", err)
	}
	if config.Name != t.Name || config.Parameters["model_id"] != t.ID {
		return nil, fmt.Errorf("config.pbtxt: name %q and model_id %q could not be changed to %q and %q; write each parameter of the entry on a line of its own, "+
			"as the shipped ones are", config.Name, config.Parameters["model_id"], t.Name, t.ID)
	}
	if err := checkGraph(filepath.Join(dir, "1", "model.onnx"), config); err != nil {
		return nil, fmt.Errorf("model.onnx: %w", err)
	}
	if o.Open != nil {
		err = o.Open(&triton.Model{
			Name: t.Name, Versions: []string{"1"}, Config: config, Dir: dir, Inputs: wire(config.Inputs), Outputs: wire(config.Outputs),
		})
	}
	return []Parameter{{"retort_api", o.API}, {"model_id", t.ID}, {"of", t.Of}}, err
}
