package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"text/tabwriter"

	"retort/orchestrator/command"
	"retort/orchestrator/manifest"
)

type versionCommand struct {
	JSON bool `name:"json" env:"-" help:"Print one JSON object."`
}

// Run prints what identifies the program and the entries of the model repository.
func (c versionCommand) Run(p *command.Process, config *Config) error {
	info, _ := debug.ReadBuildInfo() // nil without one
	d := versionInfo{Version: version, Commit: commitOf(info), Go: "unknown", Repository: config.ModelRepository}
	if info != nil {
		d.Go = info.GoVersion
	}
	var err error
	if d.Models, err = manifest.Read(d.Repository); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if c.JSON {
		return json.NewEncoder(p.Stdout).Encode(d)
	}
	return d.print(p.Stdout)
}

// commitOf returns the commit that the program was built from, with "+changes" if there were uncommitted changes, or
// "unknown". info is nil without build information.
func commitOf(info *debug.BuildInfo) string {
	if commit != "" {
		return commit
	}
	settings := map[string]string{}
	if info != nil {
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
	}
	switch revision := settings["vcs.revision"]; {
	case revision == "":
		return "unknown"
	case settings["vcs.modified"] == "true":
		return revision + "+changes"
	default:
		return revision
	}
}

// versionInfo identifies the program and the entries of a model repository.
type versionInfo struct {
	Version    string           `json:"version"`
	Commit     string           `json:"commit"`
	Go         string           `json:"go"`
	Repository string           `json:"model_repository"`
	Models     []manifest.Entry `json:"models"` // nil if the repository does not exist
}

// print writes it as lines of text. The first one is "retort VERSION".
func (d versionInfo) print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "retort %s\ncommit\t%s\ngo\t%s\n", d.Version, d.Commit, d.Go)
	if err := table.Flush(); err != nil {
		return err
	}
	if d.Models == nil {
		_, err := fmt.Fprintf(to, "models: the folder %s does not exist\n", d.Repository)
		return err
	}
	fmt.Fprintf(table, "models in %s:\n", d.Repository)
	for _, m := range d.Models {
		fmt.Fprintf(table, "%s\t%s\tsha256:%s\t%s\n", m.Name, m.ID, m.SHA256, m.State)
	}
	return table.Flush()
}
