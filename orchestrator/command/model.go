package command

import (
	"cmp"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"retort/chem"
	"retort/orchestrator/modelimport"
	"retort/orchestrator/triton"
)

// Repository is the model repository of the gateway's settings.
type Repository struct {
	Folder string
	// Openers open an entry of an API as the gateway does, but without a server.
	Openers map[string]func(*triton.Model) error
	// Triton is the connection to the gateway's Triton.
	Triton triton.Config
}

// Model is retort model. The flags of its commands have no environment variables.
type Model struct {
	Import   importModel   `cmd:"" help:"Create an entry of the model repository from a published model."`
	List     listModels    `cmd:"" help:"List the entries of the model repository, with their states in Triton if it can be reached."`
	Remove   removeModel   `cmd:"" help:"Remove a model from the model repository."`
	Quantize quantizeModel `cmd:"" help:"Create an int8 version of an entry: about twice as fast on processors with VNNI, slightly less exact."`
	Sample   sampleModel   `cmd:"" help:"Write a sample of the molecules that a model was trained on, for the term novelty."`
	Check    checkModel    `cmd:"" help:"Check that a model does what the APIs assume."`

	Calibrate calibrateModel `cmd:"" help:"Fit the scale of a ranker's relevance scores to judged pairs, or measure the similarity of unrelated texts."`
}

// importGarbage bounds unused memory while weights are in memory, in percent of the memory in use.
const importGarbage = 20

type importModel struct {
	modelimport.Options `embed:""`
	loadFlags           `embed:""`
}

func (importModel) Help() string {
	return "Examples:\n\n  retort model import FOLDER --api embedding --id intfloat/e5-small-v2 \\\n" +
		"    --query-prefix 'query: ' --passage-prefix 'passage: '\n" +
		"  retort model import FOLDER --api ranking --id BAAI/bge-reranker-v2-m3\n" +
		"  retort model import FOLDER --api masked --id nvidia/genmol-v2"
}

func (c importModel) Run(p *Process, repository Repository) error {
	debug.SetGCPercent(importGarbage)
	c.Repository = cmp.Or(c.Repository, repository.Folder)
	c.Open = repository.Openers[c.API]
	c.Now = time.Now()
	c.Begin = p.showWeights
	return c.run(p, repository, c.Repository, modelimport.EntryName(c.ID, c.Name),
		func() (*modelimport.Result, error) { return modelimport.Import(c.Options) })
}

type quantizeModel struct {
	modelimport.QuantizeOptions `embed:""`
	loadFlags                   `embed:""`
}

func (c quantizeModel) Run(p *Process, repository Repository) error {
	debug.SetGCPercent(importGarbage)
	c.Repository = cmp.Or(c.Repository, repository.Folder)
	c.Openers = repository.Openers
	c.Now = time.Now()
	return c.run(p, repository, c.Repository, cmp.Or(c.Name, c.Source+"_int8"),
		func() (*modelimport.Result, error) { return modelimport.Quantize(c.QuantizeOptions) })
}

// printEntry describes a new entry and what is left to do, unless err says that there is none.
func (p *Process) printEntry(entry *modelimport.Result, err error) error {
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", entry.Dir)
	for _, parameter := range entry.Parameters {
		value := parameter.Value
		if strings.ContainsAny(value, "\n\t") {
			value = strconv.Quote(value)
		}
		fmt.Fprintf(&b, "  %-18s %s\n", parameter.Key, value)
	}
	for _, note := range entry.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	fmt.Fprintf(&b, "The entry can be opened. Once Triton has loaded it, a gateway that reads this repository serves it as %s.\n", entry.ID)
	fmt.Fprintf(&b, "Describe its quality and licence in %s/CARD.md.\n", entry.Dir)
	_, err = fmt.Fprint(p.Stdout, b.String())
	return err
}

type sampleModel struct {
	modelimport.SampleOptions `embed:""`
}

func (sampleModel) Help() string {
	return "The entry's file training_sample.gz has fingerprints, not molecules. Once the gateway reads the entry again, the\n" +
		"term novelty of its API is the distance to the nearest of them.\n\n" +
		"  retort model sample masked train.smi"
}

func (c sampleModel) Run(p *Process, repository Repository) error {
	c.Repository = cmp.Or(c.Repository, repository.Folder)
	sample, err := modelimport.WriteSample(p.Context, c.SampleOptions)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "%s: %d of %d molecules\n",
		filepath.Join(c.Entry, chem.SampleFile), sample.Size(), sample.DrawnFrom())
	return err
}
