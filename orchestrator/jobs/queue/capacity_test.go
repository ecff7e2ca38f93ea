package queue

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"retort/orchestrator/jobs/queue/natstest"
)

// All parts share one bound. New work is refused first, then the writes of accepted work, then its results and records.
// Deleted bytes are free at once.
func TestAllPartsShareOneBound(t *testing.T) {
	const bound = 8 * PartSize
	ctx := t.Context()
	e, err := Open(ctx, Config{Folder: t.TempDir(), MaxBytes: bound}, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	bodies, err := NewFiles(ctx, e, "bodies")
	if err != nil {
		t.Fatal(err)
	}
	others, err := NewFiles(ctx, e, "others")
	if err != nil {
		t.Fatal(err)
	}
	answers, err := NewAnswers(ctx, e, "lines")
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable[[]byte](ctx, e, "records")
	if err != nil {
		t.Fatal(err)
	}
	put := func(files *Files, purpose Purpose, name string, parts int) error {
		_, err := files.Write(ctx, purpose, name, bytes.NewReader(make([]byte, parts*PartSize)))
		return err
	}
	if err := put(bodies, Input, "a", 6); err != nil {
		t.Fatal(err)
	}
	if err := put(others, Input, "b", 3); !errors.Is(err, ErrFull) {
		t.Errorf("input beyond the bound: %v", err)
	}
	n := 0
	for err = nil; err == nil && n < 100; n++ {
		err = answers.Put(ctx, "job", n, make([]byte, PartSize))
	}
	if !errors.Is(err, ErrFull) || n != 6 {
		t.Errorf("answers refused after %d parts: %v", n+5, err)
	}
	if err := put(others, Outcome, "result", 3); err != nil {
		t.Errorf("a result: %v", err)
	}
	if err := put(others, Outcome, "more", 3); !errors.Is(err, ErrFull) {
		t.Errorf("results beyond twice the bound: %v", err)
	}
	if err := table.Create(ctx, "a", nil); err != nil {
		t.Errorf("a record: %v", err)
	}
	if err := put(bodies, Input, "c", 1); !errors.Is(err, ErrFull) {
		t.Errorf("input again: %v", err)
	}
	if err := errors.Join(bodies.Delete(ctx, "a"), answers.Drop(ctx, "job")); err != nil {
		t.Fatal(err)
	}
	if err := put(bodies, Input, "c", 3); err != nil {
		t.Errorf("after files were deleted: %v", err)
	}
}

// singleNode starts a NATS server and returns the settings to connect to it.
func singleNode(t *testing.T) Cluster {
	t.Helper()
	return Cluster{URL: []string{natstest.Single(t, server.RANDOM_PORT).ClientURL()}}
}

// The storage is bounded even without a setting.
func TestStorageIsBoundedByDefault(t *testing.T) {
	for name, config := range map[string]Config{
		"embedded": {Folder: t.TempDir()},
		"cluster":  {Cluster: singleNode(t)},
	} {
		e, err := Open(t.Context(), config, zerolog.Nop())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.Close)
		if limit := e.inputLimit(e.disk()); limit <= 0 || limit > defaultMaxBytes {
			t.Errorf("%s: %d bytes", name, limit)
		}
		if e.embedded != nil {
			if free := e.disk().free; e.inputLimit(e.disk()) > free/2 {
				t.Errorf("%d bytes of %d that are free", e.inputLimit(e.disk()), free)
			}
		}
	}
}

// A folder that holds more than the bound, for example from an earlier release, is logged.
func TestStorageThatIsFullFromTheStart(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct {
		bound    int64
		reported bool
	}{{8 * PartSize, false}, {PartSize, true}} {
		var log bytes.Buffer
		e, err := Open(t.Context(), Config{Folder: folder, MaxBytes: test.bound}, zerolog.New(zerolog.SyncWriter(&log)))
		if err != nil {
			t.Fatal(err)
		}
		files, err := NewFiles(t.Context(), e, "texts")
		if err != nil {
			t.Fatal(err)
		}
		if !test.reported {
			if _, err := files.Write(t.Context(), Outcome, "a", bytes.NewReader(make([]byte, 2*PartSize))); err != nil {
				t.Fatal(err)
			}
		}
		e.Close()
		if reported := strings.Contains(log.String(), "jobs-max-bytes"); reported != test.reported {
			t.Errorf("with a bound of %d: %s", test.bound, log.String())
		}
	}
}

// Bytes written by other gateways count.
func TestBytesInAClusterAreCounted(t *testing.T) {
	config := Config{Cluster: singleNode(t), MaxBytes: 8 * PartSize}
	var engines [2]*Engine
	var files [2]*Files
	for i := range engines {
		var err error
		if engines[i], err = Open(t.Context(), config, zerolog.Nop()); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(engines[i].Close)
		if files[i], err = NewFiles(t.Context(), engines[i], "texts"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := files[0].Write(t.Context(), Input, "a", bytes.NewReader(make([]byte, 6*PartSize))); err != nil {
		t.Fatal(err)
	}
	if err := engines[1].count(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := files[1].Write(t.Context(), Input, "b", bytes.NewReader(make([]byte, 3*PartSize)))
	if !errors.Is(err, ErrFull) {
		t.Errorf("beyond the bound: %v", err)
	}
}

// While the bytes in a cluster cannot be counted, writes do not add up: their bytes may have been deleted.
func TestBytesThatCannotBeCounted(t *testing.T) {
	config := Config{Cluster: singleNode(t), MaxBytes: 4 * PartSize}
	e, err := Open(t.Context(), config, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	e.stop() // the regular counts
	files, err := NewFiles(t.Context(), e, "texts")
	if err != nil {
		t.Fatal(err)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	for range 3 {
		if _, err := files.Write(t.Context(), Input, "a", bytes.NewReader(make([]byte, 3*PartSize))); err != nil {
			t.Fatal(err)
		}
		if err := files.Delete(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if err := e.count(ended); err == nil {
			t.Fatal("the count succeeded")
		}
	}
}

// A stream of an earlier release with a lower bound is used as it is if the cluster cannot reserve the new bound.
func TestBoundsThatAClusterCannotReserve(t *testing.T) {
	const bound = 400 << 20 // of 1 GiB
	config := Config{Cluster: singleNode(t), MaxBytes: bound}
	e, err := Open(t.Context(), config, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	names := []string{"bodies", "texts"}
	for _, name := range names {
		if _, err := e.js.CreateStream(t.Context(), jetstream.StreamConfig{
			Name: prefix + "_files_" + name, Subjects: []string{prefix + ".files." + name + ".>"}, MaxMsgsPerSubject: 1,
			MaxBytes: bound, Discard: jetstream.DiscardNew, AllowDirect: true,
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		files, err := NewFiles(t.Context(), e, name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := files.Write(t.Context(), Input, "a", strings.NewReader("text")); err != nil {
			t.Error(err)
		}
	}
}
