package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/jobs/queue"
)

// fileWatchInterval is how often files that may change are looked at.
const fileWatchInterval = time.Second

// fileWatch has files read again after they have changed, so that rotated keys and renewed certificates need no restart. It
// polls: a mounted secret changes by the swap of a link above it.
type fileWatch struct {
	logger  zerolog.Logger
	watched []*watchedFiles
}

// watchedFiles are files that are read together.
type watchedFiles struct {
	setting string // that names them, for the log
	paths   []string
	read    func() error
	seen    []os.FileInfo // as they were when they were last read without an error
	failed  string        // what the last read ended with
}

// add has files read by read, which keeps what it has after an error. It is called before run.
func (w *fileWatch) add(setting string, read func() error, paths ...string) {
	w.watched = append(w.watched, &watchedFiles{setting: setting, paths: paths, read: read})
}

// run looks at the files until ctx ends.
func (w *fileWatch) run(ctx context.Context) { queue.Every(ctx, fileWatchInterval, w.look) }

// look reads what has changed, once more where the change could not be read.
func (w *fileWatch) look() {
	for _, f := range w.watched {
		now, err := stat(f.paths)
		if err == nil && slices.EqualFunc(f.seen, now, isSameVersion) {
			continue
		}
		first := f.seen == nil && f.failed == ""
		if err == nil {
			err = f.read()
		}
		switch {
		case err == nil:
			f.seen = now
			f.failed = ""
			if !first {
				w.logger.Info().Str("setting", f.setting).Msg("changed files were read")
			}
		case err.Error() != f.failed:
			f.failed = err.Error()
			w.logger.Warn().Err(err).Str("setting", f.setting).Msg("changed files cannot be read: what was read before stays")
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
