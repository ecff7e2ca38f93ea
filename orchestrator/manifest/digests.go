package manifest

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sync/singleflight"
)

// Digests computes digests of entries, and again only when their files change. It may be used by several goroutines.
type Digests struct {
	computing singleflight.Group // by folder and state
	mu        sync.Mutex
	latest    map[string]digestOfState // by folder
}

// digestOfState is the digest of an entry in one state of its files: see describeFiles.
type digestOfState struct{ state, digest string }

// Of returns the digest of the entry in a folder. Callers share one computation, which goes on when the ctx of a caller
// ends: the files may have gigabytes, and the next caller needs the digest too.
func (d *Digests) Of(ctx context.Context, folder string) (string, error) {
	files := os.DirFS(folder)
	state, err := describeFiles(files)
	if err != nil {
		return "", err
	}
	d.mu.Lock()
	known := d.latest[folder]
	d.mu.Unlock()
	if known.state == state {
		return known.digest, nil
	}
	result := d.computing.DoChan(folder+"\n"+state, func() (any, error) {
		digest, err := computeDigest(files)
		if err != nil {
			return "", err
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.latest == nil {
			d.latest = map[string]digestOfState{}
		}
		d.latest[folder] = digestOfState{state, digest}
		return digest, nil
	})
	select {
	case r := <-result:
		return r.Val.(string), r.Err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
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
