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
	apiEmbedding = "embedding"
	apiRanking   = "ranking"
	apiMasked    = "masked"
	apiChat      = "chat"
)

// Precisions: fp16 and fp32 say how weights are stored, and arithmetic is in 32 bits. int8 computes products with
// weight matrices in integers (see quantizeProducts): about twice as fast on processors with VNNI, and a little less
// exact.
const (
	precisionFP16 = "fp16"
	precisionFP32 = "fp32"
	precisionInt8 = "int8"
)

// Options are the arguments and flags of retort model import. A flag that is set takes precedence over what the folder
// says.
type Options struct {
	Folder string `arg:"" type:"existingdir" help:"Folder of the model, as published: config.json, tokenizer.json and weights (model.safetensors or model.onnx), or a checkpoint of GenMol."`

	API        string `name:"api" aliases:"kind" required:"" enum:"embedding,ranking,masked,chat" env:"-" help:"API of the model: embedding, ranking, masked or chat."`
	ID         string `name:"id" required:"" placeholder:"NAME" env:"-" help:"Public id, which clients send as model."`
	Name       string `placeholder:"ENTRY" env:"-" help:"Name of the entry's folder; by default derived from the id."`
	Repository string `type:"path" placeholder:"DIR" env:"-" help:"Model repository that receives the entry; by default --model-repository."`
	Force      bool   `env:"-" help:"Replace an existing entry."`
	OwnedBy    string `placeholder:"NAME" env:"-" help:"Owner in model lists; by default the part of the id before the slash."`
	Weights    string `enum:",safetensors,onnx" default:"" env:"-" help:"Weights to use: safetensors or onnx; by default safetensors if the folder has them."`
	Precision  string `enum:",fp32,fp16,int8" default:"" env:"-" help:"How weights are stored: fp16 (the default for safetensors) or fp32, both computed in fp32; int8 also computes in integers."`

	Device string `enum:",gpu,tensorrt" default:"" env:"-" help:"gpu or tensorrt, for a Triton with GPUs: computed by CUDA, or by TensorRT in 16 bits; by default the device that Triton picks."`

	MaxLength       int     `placeholder:"TOKENS" env:"-" help:"Longest text, in tokens, which bounds memory and time; by default as the folder says."`
	Pooling         string  `enum:",mean,cls,max,weightedmean,lasttoken" default:"" env:"-" help:"Pooling, for a folder without modules.json: mean, cls, max, weightedmean or lasttoken."`
	Normalize       *bool   `negatable:"" env:"-" help:"Divide vectors by their L2 norm; by default as modules.json says, and yes without one."`
	QueryPrefix     *string `placeholder:"TEXT" env:"-" help:"Text to put before queries; by default the query prompt in config_sentence_transformers.json."`
	PassagePrefix   *string `placeholder:"TEXT" env:"-" help:"Text to put before passages; by default the passage or document prompt in the same file."`
	PairTemplate    *string `placeholder:"TEXT" env:"-" help:"Text of a pair for rankers made of language models, with {query} and {passage}; by default that of the family's published rankers, if there are any."`
	LeastDimensions int     `placeholder:"N" env:"-" help:"Fewest dimensions that clients may request, for a Matryoshka model, whose vectors can be shortened."`

	PythonOptions `embed:""`
	ChatOptions   `embed:""`

	Open func(*triton.Model) error `kong:"-"` // opens the entry as the gateway does; may be nil
	Now  time.Time                 `kong:"-"` // becomes the creation time of the model
	// Begin is called with what will be done and the bytes of weights to read. It returns what is called with the
	// bytes of each tensor. It may be nil.
	Begin func(plan string, bytes int64) (onRead func(bytes int)) `kong:"-"`
}

// Result describes a new entry.
type Result struct {
	// Dir is the entry's folder, ID the name of the model in requests.
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
	if err := o.checkFlags(); err != nil {
		return nil, err
	}
	if o.API == apiChat {
		return importChat(o)
	}
	name, err := checkName(o.ID, o.Name)
	if err != nil {
		return nil, err
	}
	if err := o.checkDevice(); err != nil {
		return nil, err
	}
	d := destination{repository: o.Repository, name: name, force: o.Force}
	if err := d.checkFree(); err != nil {
		return nil, err
	}
	if o.API == apiMasked {
		return importMasked(o, d)
	}
	f, err := openFolder(o.Folder)
	if err != nil {
		return nil, err
	}
	r, err := readRecipe(f, o)
	if err != nil {
		return nil, err
	}
	m, err := openModel(f, r, o)
	if err != nil {
		return nil, err
	}
	defer m.close()
	e := &entry{name: name, folder: f, recipe: r, options: o, model: m}
	if err := d.install(e.write, e.check); err != nil {
		return nil, err
	}
	notes := append(r.notes, deviceNotes(o.Device)...)
	return &Result{Dir: d.dir(), ID: o.ID, Parameters: e.parameters(), Notes: notes}, nil
}

var (
	validName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)
	notInNames = regexp.MustCompile(`[^a-z0-9]+`)
)

// checkName returns the name of an entry, see EntryName, or refuses it or the public id.
func checkName(id, name string) (string, error) {
	if strings.TrimSpace(id) == "" {
		return "", errors.New("id: the public id is missing")
	}
	if name = EntryName(id, name); name == "" {
		return "", fmt.Errorf("id %q: the name of the entry cannot be derived from it: give --name", id)
	}
	if !validName.MatchString(name) {
		return "", fmt.Errorf("name %q: the name of an entry consists of letters, digits, _, - and .", name)
	}
	return name, nil
}

// EntryName returns name, or if it is "" the default name of the entry of a public id.
func EntryName(id, name string) string {
	if name != "" {
		return name
	}
	base := strings.ToLower(id[strings.LastIndex(id, "/")+1:])
	return strings.Trim(notInNames.ReplaceAllString(base, "_"), "_")
}

// owner is the owner in the model list.
func (o Options) owner() string {
	organization, _, ok := strings.Cut(o.ID, "/")
	if !ok {
		organization = "retort"
	}
	return cmp.Or(o.OwnedBy, organization)
}
