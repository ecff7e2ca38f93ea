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
	build, _ := debug.ReadBuildInfo() // nil in a program that was built without modules
	info := versionInfo{Version: version, Commit: commitOf(build), Go: "unknown", Repository: config.ModelRepository}
	if build != nil {
		info.Go = build.GoVersion
	}
	var err error
	if info.Models, err = manifest.Read(info.Repository); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if c.JSON {
		return json.NewEncoder(p.Stdout).Encode(info)
	}
	return info.print(p.Stdout)
}

// commitOf returns the commit that the program was built from, with "+changes" if there were uncommitted changes, or
// "unknown". The linker's value (main.commit) takes precedence over the build information, which may be nil.
func commitOf(build *debug.BuildInfo) string {
	if commit != "" {
		return commit
	}
	settings := map[string]string{}
	if build != nil {
		for _, s := range build.Settings {
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

// print writes a table as text. Its first line is "retort VERSION".
func (info versionInfo) print(to io.Writer) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "retort %s\ncommit\t%s\ngo\t%s\n", info.Version, info.Commit, info.Go)
	if err := table.Flush(); err != nil {
		return err
	}
	if info.Models == nil {
		_, err := fmt.Fprintf(to, "models: the folder %s does not exist\n", info.Repository)
		return err
	}
	fmt.Fprintf(table, "models in %s:\n", info.Repository)
	for _, m := range info.Models {
		fmt.Fprintf(table, "%s\t%s\tsha256:%s\t%s\n", m.Name, m.ID, m.SHA256, m.State)
	}
	return table.Flush()
}
