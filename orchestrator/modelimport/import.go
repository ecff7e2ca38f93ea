package modelimport

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"retort/orchestrator/triton"
)

// The APIs that have entries.
const (
	Embedding = "embedding"
	Ranking   = "ranking"
)

// Precisions. Weights are stored in FP16 or FP32 and computed with in 32 bits. Int8 also computes products with weight
// matrices in integers (see quantizeProducts): about twice as fast on processors with VNNI, and a little less exact.
const (
	FP16 = "fp16"
	FP32 = "fp32"
	Int8 = "int8"
)

// Options are the arguments of Import. An option that is set takes precedence over what the folder says.
type Options struct {
	// Folder is the published model.
	Folder string
	// API is Embedding or Ranking.
	API string
	// ID is the public id, which clients send as model.
	ID string
	// Name is the name of the entry; by default derived from ID.
	Name string
	// Repository is the model repository. Force replaces an entry of the same name.
	Repository string
	Force      bool
	// OwnedBy is shown in the model list; by default the part of ID before "/".
	OwnedBy string
	// Weights is "safetensors" or "onnx"; by default safetensors if the folder has them.
	Weights string
	// Precision is FP16, FP32 or Int8. By default, weights in safetensors are stored in FP16 and an ONNX graph is not
	// changed.
	Precision string

	// MaxLength is the longest row in tokens, special tokens included.
	MaxLength int
	// Pooling is "mean" or "cls".
	Pooling string
	// Normalize divides vectors by their L2 norm.
	Normalize *bool
	// QueryPrefix and PassagePrefix are put before the texts of the two modes.
	QueryPrefix, PassagePrefix *string
	// LeastDimensions is the shortest vector that the model was trained to return.
	LeastDimensions int

	// Open opens the entry as the gateway does. It may be nil.
	Open func(*triton.Model) error
	// Now becomes the creation time of the model.
	Now time.Time
}

// Result describes a new entry.
type Result struct {
	// Dir is the entry's folder, ID its public id.
	Dir, ID string
	// Parameters are facts to show, mostly the parameters of config.pbtxt in order.
	Parameters []Parameter
	// Notes are what the operator should know.
	Notes []string
}

// Parameter is a key of config.pbtxt with its value.
type Parameter struct{ Key, Value string }

// Import creates an entry from a published model.
func Import(o Options) (*Result, error) {
	name, err := entryName(o.API, o.ID, o.Name)
	if err != nil {
		return nil, err
	}
	d := destination{repository: o.Repository, name: name, force: o.Force}
	if err := d.checkFree(); err != nil {
		return nil, err
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
	e := &entry{name: name, folder: f, recipe: r, options: o, weights: w}
	if err := d.install(e.write, e.check); err != nil {
		return nil, err
	}
	return &Result{Dir: d.dir(), ID: o.ID, Parameters: e.parameters(), Notes: r.notes}, nil
}

var (
	validName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	notInNames = regexp.MustCompile(`[^a-z0-9]+`)
)

// entryName checks the API and the public id of an entry, and returns its name: name, or by default one derived from
// the id.
func entryName(api, id, name string) (string, error) {
	if api != Embedding && api != Ranking {
		return "", fmt.Errorf("api %q: only models of %s and %s can be imported", api, Embedding, Ranking)
	}
	if strings.TrimSpace(id) == "" {
		return "", errors.New("id: the public id is missing")
	}
	if name == "" {
		base := strings.ToLower(id[strings.LastIndex(id, "/")+1:])
		name = strings.Trim(notInNames.ReplaceAllString(base, "_"), "_")
	}
	if !validName.MatchString(name) {
		return "", fmt.Errorf("name %q: the name of an entry consists of letters, digits, _, - and .", name)
	}
	return name, nil
}

// owner is the owner in the model list.
func (o Options) owner() string {
	organization, _, ok := strings.Cut(o.ID, "/")
	if !ok {
		organization = "retort"
	}
	return cmp.Or(o.OwnedBy, organization)
}
