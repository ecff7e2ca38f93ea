// Package settings reads and prints the settings of a command line made with kong.
//
// A setting is a flag of the program as a whole. Nested keys of a settings file are joined with hyphens, so that
// embedding: {port: 9} sets --embedding-port; an underscore in a key stands for a hyphen.
package settings

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/goccy/go-yaml"
)

// YAML returns a resolver of the settings in a YAML file. A variable of the environment wins over the file. A key that
// is no flag is an error.
func YAML(r io.Reader) (kong.Resolver, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	values := fileValues{}
	values.flatten("", tree)
	return values, nil
}

// fileValues holds the values of a settings file by the name of the flag.
type fileValues map[string]any

func (f fileValues) flatten(prefix string, tree map[string]any) {
	for key, value := range tree {
		name := prefix + strings.ReplaceAll(key, "_", "-")
		if branch, ok := value.(map[string]any); ok {
			f.flatten(name+"-", branch)
			continue
		}
		f[name] = value
	}
}

// Validate implements kong.Resolver.
func (f fileValues) Validate(app *kong.Application) error {
	flags := flagNames(app.Node)
	var unknown []string
	for name := range f {
		if !slices.Contains(flags, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return fmt.Errorf("no such setting: %s", strings.Join(unknown, ", "))
	}
	return nil
}

func flagNames(node *kong.Node) []string {
	var names []string
	for _, flag := range node.Flags {
		names = append(names, flag.Name)
	}
	for _, child := range node.Children {
		names = append(names, flagNames(child)...)
	}
	return names
}

// Resolve implements kong.Resolver.
func (f fileValues) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, set := os.LookupEnv(name); set {
			return nil, nil
		}
	}
	value, ok := f[flag.Name]
	if !ok {
		return nil, nil
	}
	if list, isList := value.([]any); isList {
		items := make([]string, len(list))
		for i, item := range list {
			items[i] = fmt.Sprint(item)
		}
		return strings.Join(items, ","), nil
	}
	return fmt.Sprint(value), nil
}

// Flags returns the flags that are settings: those of the program, not those of a command.
func Flags(app *kong.Application) []*kong.Flag {
	return slices.DeleteFunc(slices.Clone(app.Flags), func(f *kong.Flag) bool {
		return f.Name == "help" || f.Name == "config"
	})
}

// Format returns a settings file with the value of every setting. Secrets in addresses are masked.
func Format(app *kong.Application) (string, error) {
	var b strings.Builder
	for _, flag := range Flags(app) {
		line, err := yaml.Marshal(map[string]any{flag.Name: redact(flag.Name, flag.Target.Interface())})
		if err != nil {
			return "", err
		}
		b.Write(line)
	}
	return b.String(), nil
}

// mask replaces what may be secret.
const mask = "xxxxx"

// redact masks the secrets of the addresses in the value of a setting.
func redact(name string, value any) any {
	switch value := value.(type) {
	case []string:
		addresses := make([]string, len(value))
		for i, address := range value {
			addresses[i] = redactAddress(name, address)
		}
		return addresses
	case string:
		return redactAddress(name, value)
	}
	return value
}

// redactAddress masks the user, password and query of a value that is an address: it has a scheme, or its setting is
// called -url or -endpoint. It does not parse the address, which may be invalid and still have a password.
func redactAddress(name, value string) string {
	scheme, address, hasScheme := strings.Cut(value, "://")
	if hasScheme {
		return scheme + "://" + maskSecrets(address)
	}
	if strings.HasSuffix(name, "-url") || strings.HasSuffix(name, "-endpoint") {
		return maskSecrets(value)
	}
	return value
}

// maskSecrets masks what precedes the last @ of an address without a scheme, and what follows its first question mark.
// It masks the whole address if the question mark comes first: either may belong to a secret.
func maskSecrets(address string) string {
	at, query := strings.LastIndex(address, "@"), strings.Index(address, "?")
	if query >= 0 && query < at {
		return mask
	}
	if query >= 0 {
		address = address[:query+1] + mask
	}
	if at >= 0 {
		address = mask + address[at:]
	}
	return address
}
