package modelimport

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"retort/orchestrator/triton"
)

// EntryEdit changes parameters of an entry's config.pbtxt.
type EntryEdit struct {
	Repository, Entry string
	Set               []Parameter
	Remove            []string
	Open              func(*triton.Model) error // opens an entry as the gateway does; may be nil
}

// parameterOnLine is a parameter on lines of its own, with its key in place of %s.
const parameterOnLine = `(?m)^[ \t]*parameters\s*:?\s*\{\s*key:\s*"%s"\s*value:?\s*\{\s*string_value:\s*"(?:[^"\\\n]|\\.)*"\s*\}\s*\}[ \t]*\n?`

// Apply replaces config.pbtxt in one step. If the changed entry could not be opened, all stays as it was.
func (e EntryEdit) Apply() error {
	dir := filepath.Join(e.Repository, e.Entry)
	before, err := parseConfig(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", e.Entry, err)
	}
	file := filepath.Join(dir, "config.pbtxt")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	want := maps.Clone(before.Parameters)
	for _, key := range e.keys() {
		delete(want, key)
		text = withoutParameter(text, key)
	}
	if err := hasParameters(text, want); err != nil {
		return fmt.Errorf("%s is as before: %w", file, err)
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	for _, p := range e.Set {
		want[p.Key] = p.Value
		text = fmt.Appendf(text, "parameters { key: %q value { string_value: %q } }\n", p.Key, p.Value)
	}
	if err := hasParameters(text, want); err != nil {
		return fmt.Errorf("%s is as before: %w", file, err)
	}
	staging, release, err := makeStaging(e.Repository, e.Entry)
	if err != nil {
		return err
	}
	defer release()
	changed := filepath.Join(staging, "entry")
	if err := linkFolder(dir, changed); err != nil {
		return err
	}
	next := filepath.Join(changed, "config.pbtxt")
	if err := errors.Join(os.Remove(next), os.WriteFile(next, text, 0o644)); err != nil {
		return err
	}
	if err := e.open(changed); err != nil {
		return fmt.Errorf("%s is as before: %w", file, err)
	}
	return os.Rename(next, file)
}

// keys returns the keys of the parameters that are set or removed.
func (e EntryEdit) keys() []string {
	keys := slices.Clone(e.Remove)
	for _, p := range e.Set {
		keys = append(keys, p.Key)
	}
	return keys
}

func withoutParameter(text []byte, key string) []byte {
	return regexp.MustCompile(fmt.Sprintf(parameterOnLine, regexp.QuoteMeta(key))).ReplaceAllLiteral(text, nil)
}

// hasParameters compares the parameters of a configuration with those that it should have.
func hasParameters(text []byte, want map[string]string) error {
	config, err := triton.ParseConfig(text)
	if err != nil {
		return err
	}
	if !maps.Equal(config.Parameters, want) {
		return errors.New("its parameters cannot be changed: write each on a line of its own, as in the shipped entries")
	}
	return nil
}

// open opens the changed entry.
func (e EntryEdit) open(dir string) error {
	if e.Open == nil {
		return nil
	}
	config, err := parseConfig(dir)
	if err != nil {
		return err
	}
	return e.Open(&triton.Model{
		Name:     e.Entry,
		Versions: []string{"1"},
		Config:   config,
		Dir:      dir,
		Inputs:   withBatch(config.Inputs),
		Outputs:  withBatch(config.Outputs),
	})
}
