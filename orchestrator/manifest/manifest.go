// Package manifest identifies the entries of a model repository by their files.
//
// The digest of an entry is the SHA-256 of the lines that sha256sum prints for its files, sorted by path. It excludes
// files that do not affect the results of the entry: *.md, *.pyc, Thumbs.db, and hidden files and folders.
// scripts/lint/manifest.py computes the same digests for manifest.json, a file of the model repository, and for the
// bill of materials of a release.
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

// State is the result of looking up an entry in manifest.json.
type State string

const (
	Recorded State = "recorded" // the manifest has this digest for this name and id
	Changed  State = "changed"  // the manifest has the name, but with other digests or another id
	Unlisted State = "unlisted" // the manifest does not have the name, or there is no manifest
)

// Read returns the entries of a model repository, sorted by name. An entry is a folder with a config.pbtxt.
func Read(repository string) ([]Entry, error) {
	if _, err := os.Stat(repository); err != nil { // Glob ignores errors of the file system
		return nil, err
	}
	configs, err := fs.Glob(os.DirFS(repository), "*/config.pbtxt")
	if err != nil {
		return nil, err
	}
	recorded, err := readRecords(filepath.Join(repository, "manifest.json"))
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(configs))
	for _, config := range configs {
		entry := Entry{Name: path.Dir(config)}
		folder := filepath.Join(repository, entry.Name)
		if entry.ID, err = publicID(filepath.Join(folder, "config.pbtxt"), entry.Name); err != nil {
			return nil, err
		}
		if entry.SHA256, err = computeDigest(os.DirFS(folder)); err != nil {
			return nil, fmt.Errorf("%s: %w", folder, err)
		}
		entry.State = recorded.stateOf(entry)
		entries = append(entries, entry)
	}
	return entries, nil
}

// publicID returns the id that clients send as model, by default the name of the entry.
func publicID(configFile, name string) (string, error) {
	text, err := os.ReadFile(configFile)
	if err != nil {
		return "", err
	}
	config, err := triton.ParseConfig(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", configFile, err)
	}
	return (&triton.Model{Name: name, Config: config}).PublicID(), nil
}

// computeDigest returns the digest of an entry, given its folder.
func computeDigest(files fs.FS) (string, error) {
	paths, err := listFiles(files)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	for _, name := range paths {
		if err := writeSum(sum, files, name); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}

// listFiles returns the files that a digest includes, sorted.
func listFiles(files fs.FS) (paths []string, err error) {
	err = fs.WalkDir(files, ".", func(name string, file fs.DirEntry, err error) error {
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
	slices.Sort(paths)
	return paths, err
}

// writeSum writes the line that sha256sum prints for a file.
func writeSum(to io.Writer, files fs.FS, name string) error {
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

// records are the digests of manifest.json by public id and name of the entry, oldest first.
type records map[string]map[string][]struct {
	Digest string `json:"digest"`
}

// readRecords reads manifest.json. It returns nil if there is no such file.
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
