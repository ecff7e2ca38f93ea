// Package filewatch reloads files that have changed, so that rotated keys and renewed certificates need no restart.
//
// It polls: Kubernetes renews a mounted secret by swapping a symbolic link above it, and NFS reports no changes.
package filewatch

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// interval is how often the files are checked.
const interval = time.Second

// Watcher reloads groups of files.
type Watcher struct {
	logger zerolog.Logger
	groups []*group
}

// group is a set of files that are read together.
type group struct {
	setting string // names the files in the log
	paths   []string
	reload  func() error
	loaded  []os.FileInfo // at the last successful reload
	failure string        // of the last reload; "" if it succeeded
}

// New returns a watcher without files.
func New(logger zerolog.Logger) *Watcher { return &Watcher{logger: logger} }

// Add adds a group of files. reload reads them. If it fails, it keeps the previous contents, and is called again at the
// next check. Add must not be called after Run.
func (w *Watcher) Add(setting string, reload func() error, paths ...string) {
	w.groups = append(w.groups, &group{setting: setting, paths: paths, reload: reload})
}

// Run checks the files until ctx is done.
func (w *Watcher) Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.check()
		}
	}
}

// check reloads each group that has changed since its last successful reload. It always reloads a new group, whose
// files may have changed between their first reading and Add.
func (w *Watcher) check() {
	for _, g := range w.groups {
		infos, err := stat(g.paths)
		if err == nil && slices.EqualFunc(g.loaded, infos, isSameVersion) {
			continue
		}
		isNew := g.loaded == nil && g.failure == ""
		if err == nil {
			err = g.reload()
		}
		switch {
		case err == nil:
			g.loaded = infos
			g.failure = ""
			if !isNew {
				w.logger.Info().Str("setting", g.setting).Msg("changed files reloaded")
			}
		case err.Error() != g.failure:
			g.failure = err.Error()
			w.logger.Warn().Err(err).Str("setting", g.setting).
				Msg("changed files cannot be read, keeping their previous contents")
		}
	}
}

func stat(paths []string) ([]os.FileInfo, error) {
	infos := make([]os.FileInfo, len(paths))
	for i, path := range paths {
		var err error
		if infos[i], err = os.Stat(path); err != nil {
			return nil, err
		}
	}
	return infos, nil
}

func isSameVersion(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// Value is what was last read from files. It is safe for concurrent use, and Get never waits for the file system.
type Value[T any] struct {
	read    func() (T, error)
	current atomic.Pointer[T]
}

// Read reads a value for the first time.
func Read[T any](read func() (T, error)) (*Value[T], error) {
	v := &Value[T]{read: read}
	return v, v.Reload()
}

// Reload reads the value again. If that fails, the previous value stays.
func (v *Value[T]) Reload() error {
	value, err := v.read()
	if err != nil {
		return err
	}
	v.current.Store(&value)
	return nil
}

// Get returns the current value, which must not be changed.
func (v *Value[T]) Get() *T { return v.current.Load() }
