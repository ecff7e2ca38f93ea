package queue

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sys/unix"
)

// childOf is the environment variable that names the test that started this process.
const childOf = "RETORT_TEST_CHILD_OF"

// A stream that stalls after a failed write is detected, and recovers once writes succeed. A limit on the size of files
// makes writes fail; it holds for a whole process, so the test runs in a child.
func TestStalledStreamRecovers(t *testing.T) {
	if os.Getenv(childOf) != t.Name() {
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), childOf+"="+t.Name())
		if text, err := child.CombinedOutput(); err != nil || !bytes.Contains(text, []byte("PASS")) {
			t.Fatalf("%v\n%s", err, text)
		}
		return
	}
	e, err := Open(t.Context(), Config{Folder: t.TempDir()}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	e.embedded.server.SetLoggerV2(nil, false, false, false)
	files, err := NewFiles(t.Context(), e, "texts")
	if err != nil {
		t.Fatal(err)
	}
	write := func() error {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := files.Write(ctx, Input, "a", bytes.NewReader(make([]byte, 3*PartSize)))
		return err
	}
	if err := write(); err != nil {
		t.Fatal(err)
	}
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limit := func(l unix.Rlimit) {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &l); err != nil {
			t.Fatal(err)
		}
	}
	limit(unix.Rlimit{Cur: PartSize / 2, Max: before.Max})
	for write() == nil { // the server answers before it writes
		if t.Context().Err() != nil {
			t.Fatal("writes succeed beyond the limit")
		}
	}
	limit(before)
	for until := time.Now().Add(time.Minute); write() != nil || e.Ready() != nil; {
		if time.Now().After(until) {
			t.Fatalf("the stream does not recover: %v", e.Ready())
		}
	}
}

// The other streams work although one cannot be recovered by a restart.
func TestLostStreamBlocksNothing(t *testing.T) {
	folder := t.TempDir()
	open := func() *Engine {
		t.Helper()
		e, err := Open(t.Context(), Config{Folder: folder}, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		return e
	}
	e := open()
	if _, err := NewFiles(t.Context(), e, "texts"); err != nil {
		t.Fatal(err)
	}
	e.Close()
	if err := os.Mkdir(filepath.Join(folder, "jetstream", "$G", "streams", "lost"), 0o700); err != nil {
		t.Fatal(err)
	}
	e = open()
	e.embedded.restartIfStalled()
	e.embedded.mu.Lock()
	restarted := !e.embedded.nextRestart.IsZero()
	e.embedded.mu.Unlock()
	if err := e.Ready(); err != nil || restarted {
		t.Errorf("after a check: restarted is %t, %v", restarted, err)
	}
	files, err := NewFiles(t.Context(), e, "texts")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write(t.Context(), Input, "a", strings.NewReader("text")); err != nil {
		t.Error(err)
	}
}
