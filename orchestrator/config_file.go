package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// yamlSettings resolves settings from a YAML file: nested keys are joined with a hyphen, so that embedding: {port: 9}
// sets --embedding-port. A key that is no setting is an error.
func yamlSettings(r io.Reader) (kong.Resolver, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	file := settingsFile{}
	file.flatten("", tree)
	return file, nil
}

// settingsFile is a settings file by the names of the flags.
type settingsFile map[string]any

func (f settingsFile) flatten(prefix string, tree map[string]any) {
	for key, value := range tree {
		name := prefix + strings.ReplaceAll(key, "_", "-")
		if branch, ok := value.(map[string]any); ok {
			f.flatten(name+"-", branch)
			continue
		}
		f[name] = value
	}
}

// Validate refuses keys that no setting has.
func (f settingsFile) Validate(app *kong.Application) error {
	known := map[string]bool{}
	for _, flag := range allFlags(app.Node) {
		known[flag.Name] = true
	}
	var unknown []string
	for name := range f {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("no such setting: %s", strings.Join(unknown, ", "))
	}
	return nil
}

// Resolve gives a setting its value from the file, unless the environment has one.
func (f settingsFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	value, ok := f[flag.Name]
	if !ok {
		return nil, nil
	}
	if list, many := value.([]any); many {
		parts := make([]string, len(list))
		for i, item := range list {
			parts[i] = fmt.Sprint(item)
		}
		return strings.Join(parts, ","), nil
	}
	return fmt.Sprint(value), nil
}

func allFlags(node *kong.Node) []*kong.Flag {
	flags := slices.Clone(node.Flags)
	for _, child := range node.Children {
		flags = append(flags, allFlags(child)...)
	}
	return flags
}

// yaml writes every setting with its value, as a settings file would, but without secrets.
func (c *Config) yaml() (string, error) {
	var b strings.Builder
	parser, err := newParser(&commands{Config: *c})
	if err != nil {
		return "", err
	}
	for _, flag := range settings(parser) {
		value, err := yaml.Marshal(map[string]any{flag.Name: redact(flag.Name, flag.Target.Interface())})
		if err != nil {
			return "", err
		}
		b.Write(value)
	}
	return b.String(), nil
}

// redact returns the value of a setting with a mask for what may be secret in an address: user and password, and the query.
func redact(name string, value any) any {
	const mask = "xxxxx"
	switch value := value.(type) {
	case []string:
		addresses := make([]string, len(value))
		for i, text := range value {
			addresses[i] = redact(name, text).(string)
		}
		return addresses
	case string:
		scheme, rest, hasScheme := strings.Cut(value, "://")
		if !hasScheme {
			scheme = ""
			rest = value
		}
		if !hasScheme && !strings.HasSuffix(name, "-url") && !strings.HasSuffix(name, "-endpoint") {
			return value
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = mask + rest[at:]
		}
		if address, _, hasQuery := strings.Cut(rest, "?"); hasQuery {
			rest = address + "?" + mask
		}
		if hasScheme {
			return scheme + "://" + rest
		}
		return rest
	}
	return value
}

// settings are the flags that are settings: not those of single commands.
func settings(parser *kong.Kong) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(parser.Model.Flags), func(f *kong.Flag) bool {
		return f.Name == "help" || f.Name == "config"
	})
}

// SettingsTable is the table of every setting for SETTINGS.md, in Markdown.
func SettingsTable() (string, error) {
	parser, err := newParser(&commands{})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| flag | environment | default | meaning |\n| --- | --- | --- | --- |\n")
	for _, flag := range settings(parser) {
		fmt.Fprintf(&b, "| `--%s` | `%s` | %s | %s |\n",
			flag.Name, strings.Join(flag.Envs, "`, `"), quoted(flag.Default), strings.ReplaceAll(flag.Help, "|", `\|`))
	}
	return b.String(), nil
}

func quoted(value string) string {
	if value == "" {
		return ""
	}
	return "`" + value + "`"
}
