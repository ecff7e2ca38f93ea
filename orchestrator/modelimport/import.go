package modelimport

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"retort/orchestrator/triton"
)

// The APIs that an entry can be made for.
const (
	Embedding = "embedding"
	Ranking   = "ranking"
)

// Precisions. Weights of the first two are stored so, and computed with in 32 bits; Int8 also computes the products with
// matrices in integers (inInt8), about twice as fast on processors that have VNNI, and a little less exactly.
const (
	FP16 = "fp16"
	FP32 = "fp32"
	Int8 = "int8"
)

// Options say what is wanted; where they say nothing, the folder does.
type Options struct {
	// Folder has the model.
	Folder string
	// API is Embedding or Ranking.
	API string
	// ID is the public id, which clients name.
	ID string
	// Name is that of the entry; by default made of the ID.
	Name string
	// Repository is the model repository; Force replaces an entry in it.
	Repository string
	Force      bool
	// OwnedBy is shown in the model list; by default the ID's part before "/".
	OwnedBy string
	// Weights is "safetensors" or "onnx"; by default safetensors, where the folder has them.
	Weights string
	// Precision is FP16, FP32 or Int8. By default weights in safetensors are FP16, and a graph stays as it is.
	Precision string

	// MaxLength is the longest row in tokens, special ones included.
	MaxLength int
	// Pooling is "mean" or "cls".
	Pooling string
	// Normalize divides vectors by their L2 norm.
	Normalize *bool
	// Prefixes of queries and passages.
	QueryPrefix, PassagePrefix *string
	// LeastDimensions is the shortest vector that the model was trained to give.
	LeastDimensions int

	// Open opens the entry as the gateway will.
	Open func(*triton.Model) error
	// Now is written down as the time of the model.
	Now time.Time
}

// Result is what was made.
type Result struct {
	// Dir is the entry's folder, ID what clients name.
	Dir, ID string
	// Told are the parameters of config.pbtxt, in order.
	Told []Parameter
	// Notes are what the operator should know.
	Notes []string
}

// Parameter is one of config.pbtxt.
type Parameter struct{ Key, Value string }

var entryName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// Import makes the entry. Until it is whole and has been checked it lies under a name that begins with a dot, so a
// server that follows the repository never sees half of it.
func Import(o Options) (*Result, error) {
	name, err := o.entry()
	if err != nil {
		return nil, err
	}
	target := filepath.Join(o.Repository, name)
	if _, err := os.Stat(target); err == nil && !o.Force {
		return nil, fmt.Errorf("%s exists already: --force replaces it, --name takes another", target)
	}
	f, err := openFolder(o.Folder)
	if err != nil {
		return nil, err
	}
	r, err := readRecipe(f, o)
	if err != nil {
		return nil, err
	}
	w, err := readWeights(f, r, o)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := os.MkdirAll(o.Repository, 0o755); err != nil {
		return nil, err
	}
	e := &entry{name: name, folder: f, recipe: r, options: o}
	made, err := os.MkdirTemp(o.Repository, "."+name+".*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(made)
	if err := errors.Join(os.Chmod(made, 0o755), e.write(made, w)); err != nil {
		return nil, err
	}
	if err := e.check(made); err != nil {
		return nil, fmt.Errorf("the entry was made but fails its check, and was not put into the repository: %w", err)
	}
	if err := put(made, target); err != nil {
		return nil, err
	}
	return &Result{Dir: target, ID: o.ID, Told: e.parameters(), Notes: r.notes}, nil
}

// entry is the name of the entry's folder.
func (o Options) entry() (string, error) {
	if o.API != Embedding && o.API != Ranking {
		return "", fmt.Errorf("api %q: models are imported for %s and %s", o.API, Embedding, Ranking)
	}
	if strings.TrimSpace(o.ID) == "" {
		return "", errors.New("id: the public id is missing")
	}
	name := o.Name
	if name == "" {
		last := o.ID[strings.LastIndex(o.ID, "/")+1:]
		name = strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(last), "_"), "_")
	}
	if !entryName.MatchString(name) {
		return "", fmt.Errorf("name %q: an entry's name has letters, digits, _, - and .", name)
	}
	return name, nil
}

// owner is shown in the model list.
func (o Options) owner() string {
	before, _, more := strings.Cut(o.ID, "/")
	if !more {
		before = "retort"
	}
	return cmp.Or(o.OwnedBy, before)
}

// put moves a folder to its place, whose old content it replaces.
func put(made, target string) error {
	if _, err := os.Stat(target); err != nil {
		return os.Rename(made, target)
	}
	old, err := os.MkdirTemp(filepath.Dir(target), "."+filepath.Base(target)+".old.*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(old)
	before := filepath.Join(old, "entry")
	if err := os.Rename(target, before); err != nil {
		return err
	}
	if err := os.Rename(made, target); err != nil {
		return errors.Join(err, os.Rename(before, target))
	}
	return nil
}
