package command

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/schollz/progressbar/v3"

	"retort/orchestrator/embedding"
	"retort/orchestrator/modelcalibrate"
	"retort/orchestrator/modelimport"
	"retort/orchestrator/ranking"
)

type calibrateModel struct {
	Entry      string   `arg:"" help:"Name of a folder of the model repository, such as minilm_rank_qa."`
	Pairs      string   `xor:"input" type:"existingfile" env:"-" placeholder:"FILE" help:"For a ranker: judged pairs, as lines of JSON with query, passage, relevant (0 or 1) and optionally collection, or lines with these columns separated by tabs."`
	Texts      string   `xor:"input" type:"existingfile" env:"-" placeholder:"FILE" help:"For an embedding model: different unrelated texts, one per line."`
	Reset      bool     `xor:"input" env:"-" help:"Remove the calibration from the entry."`
	DryRun     bool     `env:"-" help:"Print the figures and leave the entry as it is."`
	Repository string   `type:"path" env:"-" placeholder:"DIR" help:"Model repository. Default: --model-repository of the settings."`
	Triton     []string `env:"-" placeholder:"HOST:PORT" help:"gRPC address of the Triton that serves it. Default: --triton-url of the settings."`
	Load       bool     `env:"-" help:"Load the changed entry into every replica of that Triton. One that polls its repository loads it by itself."`
}

func (calibrateModel) Help() string {
	return "Writes parameters into the entry's config.pbtxt: relevance_calibration of a ranker, " +
		"unrelated_similarity of an embedding model. The order of ranked passages and all vectors stay the same. " +
		"Errors after the calibration are measured by cross-validation: on collections that the fit has not seen if " +
		"the pairs have several, else on queries that it has not seen.\n\n" +
		"  retort model calibrate minilm_rank_qa --pairs pairs.jsonl\n" +
		"  retort model calibrate minilm_embed --texts texts.txt\n" +
		"  retort model calibrate minilm_rank_qa --reset"
}

// calibrated are the parameters that calibrations of an API write.
var calibrated = map[string][]string{
	"ranking":   {ranking.ParameterCalibration},
	"embedding": {embedding.ParameterUnrelated},
}

func (c calibrateModel) Run(p *Process, repository Repository) error {
	o := modelcalibrate.Options{
		Repository: cmp.Or(c.Repository, repository.Folder),
		Entry:      strings.TrimSuffix(c.Entry, string(filepath.Separator)),
		Triton:     repository.Triton,
		Progress:   p.showPart("calibrating"),
	}
	if len(c.Triton) > 0 {
		o.Triton.URLs = c.Triton
		repository.Triton.URLs = c.Triton
	}
	api, err := modelcalibrate.API(o.Repository, o.Entry)
	if err != nil {
		return err
	}
	edit := modelimport.EntryEdit{
		Repository: o.Repository, Entry: o.Entry, Remove: calibrated[api], Open: repository.Openers[api],
	}
	switch {
	case calibrated[api] == nil:
		return fmt.Errorf("%s: api %q: only models of ranking and embedding are calibrated", o.Entry, api)
	case c.Reset:
	case api == "ranking" && c.Pairs == "":
		return fmt.Errorf("%s is a ranker: give --pairs FILE, or --reset", o.Entry)
	case api == "embedding" && c.Texts == "":
		return fmt.Errorf("%s is an embedding model: give --texts FILE, or --reset", o.Entry)
	case api == "ranking":
		edit.Set, err = c.ranking(p, o)
	default:
		edit.Set, err = c.embedding(p, o)
	}
	if err != nil || c.DryRun {
		return err
	}
	if err := edit.Apply(); err != nil {
		return err
	}
	verb := "has a calibration"
	if c.Reset {
		verb = "has no calibration"
	}
	fmt.Fprintf(p.Stdout, "%s %s\n", filepath.Join(o.Repository, o.Entry, "config.pbtxt"), verb)
	if c.Load {
		return repository.reload(p, o.Entry)
	}
	return nil
}

// fewPairs is the number of pairs below which a calibration has a note.
const fewPairs = 300

func (c calibrateModel) ranking(p *Process, o modelcalibrate.Options) ([]modelimport.Parameter, error) {
	pairs, err := modelcalibrate.ReadPairs(c.Pairs)
	if err != nil {
		return nil, err
	}
	report, err := modelcalibrate.Ranking(p.Context, o, pairs)
	if err != nil {
		return nil, err
	}
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COLLECTION\tPAIRS\tRELEVANT\tERROR BEFORE\tERROR AFTER\tEQUAL WIDTH BEFORE\tEQUAL WIDTH AFTER")
	for _, row := range append(report.Rows, report.All) {
		fmt.Fprintf(table, "%s\t%d\t%.0f %%\t%.3f\t%.3f\t%.3f\t%.3f\n", printable(row.Name, ""), row.Pairs,
			100*float64(row.Relevant)/float64(row.Pairs), row.Before, row.After, row.WidthBefore, row.WidthAfter)
	}
	if err := table.Flush(); err != nil {
		return nil, err
	}
	unseen := "collections"
	if report.Folds > 0 {
		unseen = fmt.Sprintf("queries (%d parts)", report.Folds)
	}
	fmt.Fprintf(p.Stdout, "ERROR is the expected calibration error over 15 bins of equal mass; AFTER is measured on %s that the fit has not seen.\n", unseen)
	if len(pairs) < fewPairs {
		fmt.Fprintf(p.Stdout, "note: %d pairs are few: the errors are uncertain\n", len(pairs))
	}
	parameters := []modelimport.Parameter{{Key: ranking.ParameterCalibration, Value: report.After.String()}}
	p.printParameters(parameters)
	return parameters, nil
}

func (c calibrateModel) embedding(p *Process, o modelcalibrate.Options) ([]modelimport.Parameter, error) {
	texts, err := modelcalibrate.ReadTexts(c.Texts)
	if err != nil {
		return nil, err
	}
	percentiles, pairs, err := modelcalibrate.Embedding(p.Context, o, texts)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(p.Stdout, "Percentiles of the cosine similarity of %d pairs of %d texts\n", pairs, len(texts))
	parameters := []modelimport.Parameter{{Key: embedding.ParameterUnrelated, Value: percentiles.String()}}
	p.printParameters(parameters)
	return parameters, nil
}

func (p *Process) printParameters(parameters []modelimport.Parameter) {
	for _, parameter := range parameters {
		fmt.Fprintf(p.Stdout, "%s %s\n", parameter.Key, parameter.Value)
	}
}

// reload loads a changed entry on every replica.
func (r Repository) reload(p *Process, name string) error {
	client, replicas, err := r.dial(p.Context)
	if err != nil {
		return err
	}
	defer client.Close()
	for _, replica := range replicas {
		err := load(p.Context, replica, name, true)
		if err != nil && !errors.Is(err, errPolls) {
			return fmt.Errorf("Triton at %s did not load %s: %w", replica.Address(), name, err)
		}
	}
	return nil
}

// showPart returns a function that draws a bar of how much of the work is done, if standard error is a terminal.
func (p *Process) showPart(activity string) func(done, total int) {
	bar := &progress{stderr: p.Stderr, start: time.Now()}
	if !isTerminal(p.Stderr) {
		return nil
	}
	return func(done, total int) {
		if bar.bar == nil || bar.bar.GetMax() != total {
			bar.bar = progressbar.NewOptions(total, progressbar.OptionSetWriter(bar),
				progressbar.OptionSetDescription(activity), progressbar.OptionShowCount(),
				progressbar.OptionFullWidth(), progressbar.OptionUseANSICodes(true))
		}
		_ = bar.bar.Set(done)
		if done == total {
			bar.end()
		}
	}
}
