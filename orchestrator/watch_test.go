package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
)

// Files are read again when one of them has changed, in place or by the swap of a link to its folder, which is how Kubernetes
// renews what it mounts; after an error they are read again at each check.
func TestChangedFilesAreReadAgain(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to string) {
		t.Helper()
		next := filepath.Join(folder, "next")
		if err := errors.Join(os.Symlink(to, next), os.Rename(next, filepath.Join(folder, "data"))); err != nil {
			t.Fatal(err)
		}
	}
	write("1/cert", "a")
	write("2/cert", "b")
	write("plain", "c")
	link("1")
	reads := 0
	var failure error
	w := &fileWatch{logger: zerolog.Nop()}
	w.add("files", func() error { reads++; return failure }, filepath.Join(folder, "data", "cert"), filepath.Join(folder, "plain"))
	for _, step := range []struct {
		name  string
		do    func()
		reads int
	}{
		{"first", func() {}, 1}, // they may have changed since they were first read
		{"nothing", func() {}, 0},
		{"link", func() { link("2") }, 1},
		{"after link", func() {}, 0},
		{"in place", func() { write("plain", "longer") }, 1},
		{"useless", func() { write("plain", "useless text"); failure = errors.New("useless") }, 1},
		{"still useless", func() {}, 1},
		{"useful", func() { failure = nil }, 1},
		{"away", func() { _ = os.Remove(filepath.Join(folder, "plain")) }, 0},
		{"back", func() { write("plain", "as it was") }, 1},
		{"at the end", func() {}, 0},
	} {
		step.do()
		before := reads
		w.check()
		if n := reads - before; n != step.reads {
			t.Errorf("%s: read %d times, want %d", step.name, n, step.reads)
		}
	}
}
