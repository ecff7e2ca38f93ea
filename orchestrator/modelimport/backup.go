package modelimport

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Backup is an entry as it was, or the fact that there was none. Its files are hard links, so it takes no space.
type Backup struct {
	target, copy string // copy is "" if there was no entry
	release      func()
}

// NewBackup makes a backup of an entry that is about to be replaced.
func NewBackup(repository, name string) (*Backup, error) {
	b := &Backup{target: filepath.Join(repository, name), release: func() {}}
	if !validName.MatchString(name) || !exists(b.target) { // Import refuses the name
		return b, nil
	}
	staging, release, err := makeStaging(repository, name)
	if err != nil {
		return nil, err
	}
	b.release = release
	b.copy = filepath.Join(staging, "entry")
	if err := linkFolder(b.target, b.copy); err != nil {
		release()
		return nil, err
	}
	return b, nil
}

// Exists reports whether there was an entry.
func (b *Backup) Exists() bool { return b.copy != "" }

// Restore brings back the entry as it was. A server never sees a part of it.
func (b *Backup) Restore() error {
	if b.Exists() {
		return replaceFolder(b.copy, b.target)
	}
	staging, release, err := makeStaging(filepath.Dir(b.target), "removed")
	if err != nil {
		return err
	}
	defer release()
	return os.Rename(b.target, filepath.Join(staging, "entry"))
}

// Drop removes the backup.
func (b *Backup) Drop() { b.release() }

// linkFolder copies a folder with hard links to its files.
func linkFolder(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Mkdir(filepath.Join(to, relative), 0o755)
		}
		return os.Link(path, filepath.Join(to, relative))
	})
}
