package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"retort/orchestrator/modelcheck"
)

type checkModel struct {
	Entry      string   `arg:"" help:"Name of a folder of the model repository, such as latent_encoder."`
	Repository string   `type:"path" env:"-" placeholder:"DIR" help:"Model repository. Default: --model-repository of the settings."`
	Triton     []string `env:"-" placeholder:"HOST:PORT" help:"gRPC address of the Triton that serves it. Default: --triton-url of the settings."`
	Molecules  string   `type:"existingfile" env:"-" placeholder:"FILE" help:"Molecules for models of molecules: a SMILES at the start of each line. Default: 24 common ones."`
	JSON       bool     `name:"json" env:"-" help:"Print one JSON object."`
}

func (checkModel) Help() string {
	return "Prints a table with a row per property, its bound and what was found. The exit status is 1 if a required " +
		"property does not hold. A latent model is checked with all its entries, whichever is named.\n\n" +
		"  retort model check minilm_embed\n  retort model check latent_encoder --molecules mine.smi --json"
}

// errCheckFailed is the error of a check in which a required property does not hold. The table has the reason.
var errCheckFailed = errors.New("a required property does not hold")

func (c checkModel) Run(p *Process, repository Repository) error {
	options := modelcheck.Options{
		Repository: cmp.Or(c.Repository, repository.Folder),
		Entry:      strings.TrimSuffix(c.Entry, string(filepath.Separator)),
		Triton:     repository.Triton,
	}
	if len(c.Triton) > 0 {
		options.Triton.URLs = c.Triton
	}
	if c.Molecules != "" {
		molecules, err := readSMILES(c.Molecules)
		if err != nil {
			return err
		}
		options.Molecules = molecules
	}
	report, err := modelcheck.Run(p.Context, options)
	if err != nil {
		return err
	}
	if c.JSON {
		encoder := json.NewEncoder(p.Stdout)
		encoder.SetEscapeHTML(false)
		err = encoder.Encode(report)
	} else {
		err = p.printReport(report)
	}
	if err == nil && !report.OK {
		err = fmt.Errorf("%s: %w", report.Entry, errCheckFailed)
	}
	return err
}

// readSMILES returns the first word of each line of a file.
func readSMILES(file string) (molecules []string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(data)) {
		if words := strings.Fields(line); len(words) > 0 {
			molecules = append(molecules, words[0])
		}
	}
	if len(molecules) == 0 {
		return nil, fmt.Errorf("%s has no molecules", file)
	}
	return molecules, nil
}

func (p *Process) printReport(report *modelcheck.Report) error {
	table := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s (%s, %s)\n", report.Entry, report.API, report.Model)
	fmt.Fprintln(table, "PROPERTY\tRESULT\tVALUE\tBOUND")
	for _, row := range report.Rows {
		value := printable(row.Value, "")
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", row.Property, row.Result, value, row.Bound)
	}
	return table.Flush()
}
