package main

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/jobs/queue"
)

// fileWatchInterval is how often files that may change are checked.
const fileWatchInterval = time.Second

// fileWatch reads files again when they have changed, so that rotated keys and renewed certificates need no restart. It
// polls, since a mounted secret changes by the swap of a link above it.
type fileWatch struct {
	logger  zerolog.Logger
	watched []*watchedFiles
}

// watchedFiles are files that are read together.
type watchedFiles struct {
	setting string // that names them, for the log
	paths   []string
	read    func() error
	seen    []os.FileInfo // at the last successful read
	failure string        // of the last read, "" for none
}

// add adds files to watch. read reads them, and after an error keeps what it has. Call add before run.
func (w *fileWatch) add(setting string, read func() error, paths ...string) {
	w.watched = append(w.watched, &watchedFiles{setting: setting, paths: paths, read: read})
}

// run checks the files until ctx ends.
func (w *fileWatch) run(ctx context.Context) { queue.Every(ctx, fileWatchInterval, w.check) }

// check reads the files that have changed since they were last read without an error.
func (w *fileWatch) check() {
	for _, f := range w.watched {
		now, err := stat(f.paths)
		if err == nil && slices.EqualFunc(f.seen, now, isSameVersion) {
			continue
		}
		first := f.seen == nil && f.failure == ""
		if err == nil {
			err = f.read()
		}
		switch {
		case err == nil:
			f.seen = now
			f.failure = ""
			if !first {
				w.logger.Info().Str("setting", f.setting).Msg("changed files read again")
			}
		case err.Error() != f.failure:
			f.failure = err.Error()
			w.logger.Warn().Err(err).Str("setting", f.setting).Msg("changed files cannot be read: the previous contents stay")
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
