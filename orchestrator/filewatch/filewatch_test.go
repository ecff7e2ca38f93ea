package filewatch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rs/zerolog"
)

// TestCheckReloadsChangedFiles changes a file in place and, as Kubernetes does, by swapping a symbolic link above it.
func TestCheckReloadsChangedFiles(t *testing.T) {
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
	link := func(target string) {
		t.Helper()
		next := filepath.Join(folder, "next")
		if err := errors.Join(os.Symlink(target, next), os.Rename(next, filepath.Join(folder, "data"))); err != nil {
			t.Fatal(err)
		}
	}
	write("1/cert", "a")
	write("2/cert", "b")
	write("plain", "c")
	link("1")
	reloads := 0
	var failure error
	reload := func() error {
		reloads++
		return failure
	}
	w := New(zerolog.Nop())
	w.Add("files", reload, filepath.Join(folder, "data", "cert"), filepath.Join(folder, "plain"))
	for _, step := range []struct {
		name    string
		change  func()
		reloads int
	}{
		{"new group", func() {}, 1},
		{"unchanged", func() {}, 0},
		{"link swapped", func() { link("2") }, 1},
		{"unchanged after the swap", func() {}, 0},
		{"written in place", func() { write("plain", "longer") }, 1},
		{"unreadable", func() { write("plain", "useless text"); failure = errors.New("useless") }, 1},
		{"still unreadable", func() {}, 1},
		{"readable", func() { failure = nil }, 1},
		{"removed", func() { _ = os.Remove(filepath.Join(folder, "plain")) }, 0},
		{"created again", func() { write("plain", "as before") }, 1},
		{"unchanged at the end", func() {}, 0},
	} {
		step.change()
		before := reloads
		w.check()
		if n := reloads - before; n != step.reloads {
			t.Errorf("%s: %d reloads, want %d", step.name, n, step.reloads)
		}
	}
}
