// Package manifest identifies the entries of a model repository by their files.
//
// The digest of an entry is the SHA-256 of the output of sha256sum for its files, sorted by path. It leaves out files
// that do not affect the outputs: pages (*.md), *.pyc, Thumbs.db, and hidden files and folders. manifest.json in the
// model repository and the bill of materials of a release have the same digests: scripts/lint/manifest.py.
package manifest

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"retort/orchestrator/triton"
)

// Entry is an entry of a model repository.
type Entry struct {
	Name   string `json:"name"`
	ID     string `json:"id"` // public id
	SHA256 string `json:"sha256"`
	State  State  `json:"state"`
}

// State says whether manifest.json has the digest of an entry.
type State string

const (
	Recorded State = "recorded" // the files are those that the manifest records for this id
	Changed  State = "changed"  // the manifest has the entry, with other files or another id
	Unlisted State = "unlisted" // the manifest does not have the entry, or there is no manifest
)

// Read returns the entries of a repository, the folders with a config.pbtxt, sorted by name.
func Read(repository string) ([]Entry, error) {
	if _, err := os.Stat(repository); err != nil { // Glob ignores such errors
		return nil, err
	}
	configs, err := filepath.Glob(filepath.Join(escape(repository), "*", "config.pbtxt"))
	if err != nil {
		return nil, err
	}
	recorded, err := readRecords(filepath.Join(repository, "manifest.json"))
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(configs))
	for _, config := range configs {
		folder := filepath.Dir(config)
		entry := Entry{Name: filepath.Base(folder)}
		if entry.ID, err = publicID(config, entry.Name); err != nil {
			return nil, err
		}
		if entry.SHA256, err = digest(os.DirFS(folder)); err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		entry.State = recorded.stateOf(entry)
		entries = append(entries, entry)
	}
	return entries, nil
}

// escape returns a pattern of filepath.Glob that matches only a path.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// publicID returns the id that clients know the entry by.
func publicID(config, name string) (string, error) {
	text, err := os.ReadFile(config)
	if err != nil {
		return "", err
	}
	parsed, err := triton.ParseConfig(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", config, err)
	}
	return (&triton.Model{Name: name, Config: parsed}).PublicID(), nil
}

// digest returns the digest of an entry's files.
func digest(files fs.FS) (string, error) {
	var paths []string
	err := fs.WalkDir(files, ".", func(name string, file fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case strings.HasPrefix(file.Name(), ".") || file.Name() == "Thumbs.db":
			if file.IsDir() {
				return fs.SkipDir
			}
			return nil
		case path.Ext(name) == ".md" || path.Ext(name) == ".pyc":
			return nil
		}
		info, err := fs.Stat(files, name) // follows links
		if err == nil && info.Mode().IsRegular() {
			paths = append(paths, name)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	slices.Sort(paths)
	sum := sha256.New()
	for _, name := range paths {
		if err := writeLine(sum, files, name); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// writeLine writes the line of sha256sum for a file.
func writeLine(to io.Writer, files fs.FS, name string) error {
	file, err := files.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%x  %s\n", sum.Sum(nil), name)
	return err
}

// records holds the digests of manifest.json, oldest first, by id and name of the entry.
type records map[string]map[string][]struct {
	Digest string `json:"digest"`
}

// readRecords reads a manifest. It returns no records if there is none.
func readRecords(file string) (records, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var manifest struct {
		IDs records `json:"ids"`
	}
	if err = cmp.Or(err, json.Unmarshal(text, &manifest)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return manifest.IDs, nil
}

func (r records) stateOf(e Entry) State {
	for _, record := range r[e.ID][e.Name] {
		if record.Digest == e.SHA256 {
			return Recorded
		}
	}
	for _, names := range r {
		if names[e.Name] != nil {
			return Changed
		}
	}
	return Unlisted
}
