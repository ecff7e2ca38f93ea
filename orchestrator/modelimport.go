package main

import (
	"fmt"
	"strings"
	"time"

	"retort/orchestrator/embedding"
	"retort/orchestrator/modelimport"
	"retort/orchestrator/ranking"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
)

// modelCommand has the commands that work on the model repository.
type modelCommand struct {
	Import   importCommand   `cmd:"" help:"Make an entry of the model repository of a published model's folder."`
	Quantize quantizeCommand `cmd:"" help:"Make a second entry of an entry that computes in int8: about twice as fast on processors with VNNI, a little less exact."`
}

// importCommand is retort model import. Its flags are no settings: they have no environment variables.
type importCommand struct {
	Folder string `arg:"" type:"existingdir" help:"Folder with config.json, tokenizer.json and weights (model.safetensors or model.onnx)."`

	API        string `name:"api" required:"" enum:"embedding,ranking" env:"-" help:"API that the model is for: embedding or ranking."`
	ID         string `name:"id" required:"" placeholder:"NAME" env:"-" help:"Public id, which clients send in model."`
	Name       string `placeholder:"ENTRY" env:"-" help:"Name of the entry's folder; by default made of the id."`
	Repository string `type:"path" placeholder:"DIR" env:"-" help:"Model repository to put the entry in; by default --model-repository."`
	Force      bool   `env:"-" help:"Replace an entry of that name."`
	OwnedBy    string `placeholder:"NAME" env:"-" help:"Owner in /v1/models; by default the id's part before the slash."`
	Weights    string `enum:",safetensors,onnx" default:"" env:"-" help:"safetensors or onnx; by default safetensors where the folder has them."`
	Precision  string `enum:",fp32,fp16,int8" default:"" env:"-" help:"fp16 (by default) or fp32 for weights of safetensors, which are computed in fp32; int8 computes in integers."`

	MaxLength       int     `placeholder:"TOKENS" env:"-" help:"Longest row; by default what the folder says."`
	Pooling         string  `enum:",mean,cls" default:"" env:"-" help:"mean or cls, for a folder without modules.json."`
	Normalize       *bool   `negatable:"" env:"-" help:"Divide vectors by their length; by default as modules.json says, and yes without one."`
	QueryPrefix     *string `placeholder:"TEXT" env:"-" help:"Put before queries; by default the prompt of config_sentence_transformers.json."`
	PassagePrefix   *string `placeholder:"TEXT" env:"-" help:"Put before passages; by default the prompt passage or document of the same file."`
	LeastDimensions int     `placeholder:"N" env:"-" help:"Shortest vector that clients may ask for, of a model trained for shorter ones."`
}

// Run imports and says what was made.
func (c importCommand) Run(env *environment) error {
	if c.Repository == "" {
		c.Repository = env.config.ModelRepository
	}
	made, err := modelimport.Import(modelimport.Options{
		Folder: c.Folder, API: c.API, ID: c.ID, Name: c.Name, Repository: c.Repository, Force: c.Force, OwnedBy: c.OwnedBy,
		Weights: c.Weights, Precision: c.Precision, MaxLength: c.MaxLength, Pooling: c.Pooling, Normalize: c.Normalize,
		QueryPrefix: c.QueryPrefix, PassagePrefix: c.PassagePrefix, LeastDimensions: c.LeastDimensions,
		Open: openers[c.API], Now: time.Now(),
	})
	if err != nil {
		return err
	}
	return tell(env, made)
}

// tell says what was made.
func tell(env *environment, made *modelimport.Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", made.Dir)
	for _, p := range made.Told {
		fmt.Fprintf(&b, "  %-15s %s\n", p.Key, p.Value)
	}
	for _, note := range made.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	fmt.Fprintf(&b, "checked as the gateway opens it. A server that follows this repository serves it now as %s;\nfigures and licence belong in %s/CARD.md.\n", made.ID, made.Dir)
	_, err := fmt.Fprint(env.stdout, b.String())
	return err
}

// quantizeCommand is retort model quantize.
type quantizeCommand struct {
	Entry string `arg:"" help:"Name of an entry of the embedding or ranking API in the repository."`

	ID         string `name:"id" required:"" placeholder:"NAME" env:"-" help:"Public id of the new entry, which clients send in model."`
	Name       string `placeholder:"ENTRY" env:"-" help:"Name of the new entry's folder; by default the old one's with _int8."`
	Repository string `type:"path" placeholder:"DIR" env:"-" help:"Model repository; by default --model-repository."`
	Force      bool   `env:"-" help:"Replace an entry of that name."`
}

// Run makes the entry and says what was made.
func (c quantizeCommand) Run(env *environment) error {
	if c.Repository == "" {
		c.Repository = env.config.ModelRepository
	}
	made, err := modelimport.Quantize(modelimport.Twin{
		Of: c.Entry, ID: c.ID, Name: c.Name, Repository: c.Repository, Force: c.Force, Openers: openers, Now: time.Now(),
	})
	if err != nil {
		return err
	}
	return tell(env, made)
}

// openers open an entry as the gateway will, without asking a server.
var openers = map[string]func(*triton.Model) error{
	modelimport.Embedding: func(m *triton.Model) error {
		_, err := embedding.Opener(nil, batching.Options{})(m)
		return err
	},
	modelimport.Ranking: func(m *triton.Model) error {
		_, err := ranking.Opener(nil, batching.Options{})(m)
		return err
	},
}
