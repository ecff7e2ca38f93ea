package command

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"retort/orchestrator/modelimport"
	"retort/orchestrator/triton"
)

// Repository is the model repository of the gateway's settings.
type Repository struct {
	Folder string
	// Openers open an entry as the gateway does, but without a server, by API.
	Openers map[string]func(*triton.Model) error
}

// Model is retort model. The flags of its commands are not settings: they have no environment variables.
type Model struct {
	Import   importModel   `cmd:"" help:"Create an entry of the model repository from a published model."`
	Quantize quantizeModel `cmd:"" help:"Create an int8 version of an entry: about twice as fast on processors with VNNI, slightly less exact."`
}

type importModel struct {
	Folder string `arg:"" type:"existingdir" help:"Folder with config.json, tokenizer.json and weights (model.safetensors or model.onnx)."`

	API        string `name:"api" required:"" enum:"embedding,ranking" env:"-" help:"API of the model: embedding or ranking."`
	ID         string `name:"id" required:"" placeholder:"NAME" env:"-" help:"Public id, which clients send as model."`
	Name       string `placeholder:"ENTRY" env:"-" help:"Name of the entry's folder; by default derived from the id."`
	Repository string `type:"path" placeholder:"DIR" env:"-" help:"Model repository that receives the entry; by default --model-repository."`
	Force      bool   `env:"-" help:"Replace an existing entry."`
	OwnedBy    string `placeholder:"NAME" env:"-" help:"Owner in model lists; by default the part of the id before the slash."`
	Weights    string `enum:",safetensors,onnx" default:"" env:"-" help:"Weights to use: safetensors or onnx; by default safetensors if the folder has them."`
	Precision  string `enum:",fp32,fp16,int8" default:"" env:"-" help:"Precision of the weights: fp16 (the default) or fp32 for safetensors, which are computed in fp32; int8 computes in integers."`

	MaxLength       int     `placeholder:"TOKENS" env:"-" help:"Longest row, in tokens; by default as the folder says."`
	Pooling         string  `enum:",mean,cls" default:"" env:"-" help:"Pooling, mean or cls, for a folder without modules.json."`
	Normalize       *bool   `negatable:"" env:"-" help:"Divide vectors by their length; by default as modules.json says, and yes without one."`
	QueryPrefix     *string `placeholder:"TEXT" env:"-" help:"Text to put before queries; by default the query prompt in config_sentence_transformers.json."`
	PassagePrefix   *string `placeholder:"TEXT" env:"-" help:"Text to put before passages; by default the passage or document prompt in the same file."`
	LeastDimensions int     `placeholder:"N" env:"-" help:"Length of the shortest vector that clients may request, for models trained for shorter ones."`
}

func (c importModel) Run(p *Process, repository Repository) error {
	result, err := modelimport.Import(modelimport.Options{
		Folder:          c.Folder,
		API:             c.API,
		ID:              c.ID,
		Name:            c.Name,
		Repository:      cmp.Or(c.Repository, repository.Folder),
		Force:           c.Force,
		OwnedBy:         c.OwnedBy,
		Weights:         c.Weights,
		Precision:       c.Precision,
		MaxLength:       c.MaxLength,
		Pooling:         c.Pooling,
		Normalize:       c.Normalize,
		QueryPrefix:     c.QueryPrefix,
		PassagePrefix:   c.PassagePrefix,
		LeastDimensions: c.LeastDimensions,
		Open:            repository.Openers[c.API],
		Now:             time.Now(),
	})
	if err != nil {
		return err
	}
	return p.printEntry(result)
}

type quantizeModel struct {
	Entry string `arg:"" help:"Name of an entry of the embedding or ranking API."`

	ID         string `name:"id" required:"" placeholder:"NAME" env:"-" help:"Public id of the new entry, which clients send as model."`
	Name       string `placeholder:"ENTRY" env:"-" help:"Name of the new entry's folder; by default the old name with _int8."`
	Repository string `type:"path" placeholder:"DIR" env:"-" help:"Model repository with both entries; by default --model-repository."`
	Force      bool   `env:"-" help:"Replace an existing entry."`
}

func (c quantizeModel) Run(p *Process, repository Repository) error {
	result, err := modelimport.Quantize(modelimport.QuantizeOptions{
		Source:     c.Entry,
		ID:         c.ID,
		Name:       c.Name,
		Repository: cmp.Or(c.Repository, repository.Folder),
		Force:      c.Force,
		Openers:    repository.Openers,
		Now:        time.Now(),
	})
	if err != nil {
		return err
	}
	return p.printEntry(result)
}

// printEntry describes a new entry and what is left to do.
func (p *Process) printEntry(entry *modelimport.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", entry.Dir)
	for _, parameter := range entry.Parameters {
		fmt.Fprintf(&b, "  %-15s %s\n", parameter.Key, parameter.Value)
	}
	for _, note := range entry.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	b.WriteString("The entry opens as it will in the gateway. ")
	fmt.Fprintf(&b, "A server that follows this repository serves it now as %s.\n", entry.ID)
	fmt.Fprintf(&b, "Describe its quality and licence in %s/CARD.md.\n", entry.Dir)
	_, err := fmt.Fprint(p.Stdout, b.String())
	return err
}
