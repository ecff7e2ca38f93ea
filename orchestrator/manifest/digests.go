package manifest

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// Digests computes digests of entries, and again only when their files change. It may be used by several goroutines.
type Digests struct {
	mu      sync.Mutex
	entries map[string]*digestEntry // by folder
}

// digestEntry is the latest digest of one entry. Its lock is held while the digest is computed.
type digestEntry struct {
	mu     sync.Mutex
	state  string // names, sizes and times of the files
	digest string
}

// Of returns the digest of the entry in a folder.
func (d *Digests) Of(folder string) (string, error) {
	d.mu.Lock()
	entry := d.entries[folder]
	if entry == nil {
		if d.entries == nil {
			d.entries = map[string]*digestEntry{}
		}
		entry = &digestEntry{}
		d.entries[folder] = entry
	}
	d.mu.Unlock()
	entry.mu.Lock()
	defer entry.mu.Unlock()
	files := os.DirFS(folder)
	state, err := describeFiles(files)
	if err != nil {
		return "", err
	}
	if state != entry.state {
		if entry.digest, err = computeDigest(files); err != nil {
			entry.state = ""
			return "", err
		}
		entry.state = state
	}
	return entry.digest, nil
}

// describeFiles returns a text that changes when a file of an entry changes.
func describeFiles(files fs.FS) (string, error) {
	var b strings.Builder
	paths, err := listFiles(files)
	for _, name := range paths {
		info, err := fs.Stat(files, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	return b.String(), err
}
