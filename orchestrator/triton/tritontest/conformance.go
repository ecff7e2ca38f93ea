package tritontest

import (
	"context"
	"embed"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// The models of the trials as a real server runs them, with Triton's Python backend. conformance_models.go has the same
// in Go.
//
//go:embed models
var models embed.FS

// Target is the server on trial. It must be under explicit model control.
type Target struct {
	// URL is its address, for triton.Config.
	URL string
	// Install puts one of the conformance models into its repository, under its own name, without loading it.
	Install func(t *testing.T, name string)
	// Remove takes it out again.
	Remove func(t *testing.T, name string)
}

// Fake returns a new in-process server as a target.
func Fake(t *testing.T) Target {
	s := Start(t)
	return Target{
		URL:     s.URL(),
		Install: func(t *testing.T, name string) { s.Put(conformanceModel(t, name)) },
		Remove:  func(_ *testing.T, name string) { s.Remove(name) },
	}
}

// Real returns the server at RETORT_TEST_TRITON_URL whose model repository is the folder RETORT_TEST_TRITON_REPOSITORY,
// and skips the test without them.
func Real(t *testing.T) Target {
	url := os.Getenv("RETORT_TEST_TRITON_URL")
	folder := os.Getenv("RETORT_TEST_TRITON_REPOSITORY")
	if url == "" || folder == "" {
		t.Skip("RETORT_TEST_TRITON_URL and RETORT_TEST_TRITON_REPOSITORY do not name a tritonserver under explicit model control")
	}
	remove := func(t *testing.T, name string) {
		if err := os.RemoveAll(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	install := func(t *testing.T, name string) {
		remove(t, name)
		source, err := fs.Sub(models, "models/"+name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(folder, name), source); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { remove(t, name) })
	}
	return Target{URL: url, Install: install, Remove: remove}
}

// Conformance tries a server through the client: what holds for the fake must hold for the real one. It unloads and
// removes what it installed. inFlight returns the client's calls in flight.
func Conformance(t *testing.T, target Target, inFlight func(*triton.Client) int) {
	c, err := triton.Dial(triton.Config{URLs: []string{target.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	x := &trial{Target: target, client: c, admin: NewAdmin(t, target.URL), inFlight: inFlight}
	t.Run("lifecycle", x.lifecycle)
	t.Run("override", x.override)
	for _, name := range []string{"conformance_identity", "conformance_count", "conformance_slow", "conformance_fail"} {
		x.load(t, name)
	}
	t.Run("datatypes", x.datatypes)
	t.Run("bytes", x.bytes)
	t.Run("large", x.large)
	t.Run("requests", x.requests)
	t.Run("refusals", x.refusals)
	t.Run("model errors", x.modelErrors)
	t.Run("streams", x.streams)
	t.Run("stream errors", x.streamErrors)
	t.Run("stream canceled", x.streamCanceled)
	t.Run("streams left", x.streamsLeft)
	t.Run("streams probed", x.streamsProbed)
	t.Run("deadline", x.deadline)
	t.Run("full queue", x.fullQueue)
	t.Run("discovery", x.discovery)
}

// trial is one run of the suite.
type trial struct {
	Target
	client   *triton.Client
	admin    *Admin
	inFlight func(*triton.Client) int
}

func (x *trial) ctx(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// load installs and loads a model until the test ends.
func (x *trial) load(t *testing.T, name string) {
	t.Helper()
	x.Install(t, name)
	if err := x.admin.Load(x.ctx(t), name, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.admin.Unload(context.Background(), name); err != nil {
			t.Error(err)
		}
		x.Remove(t, name)
	})
}

// infer runs a model that must answer.
func (x *trial) infer(t *testing.T, model string, inputs ...triton.Tensor) *triton.Response {
	t.Helper()
	r, err := x.client.Infer(x.ctx(t), &triton.Request{Model: model, Inputs: inputs})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// refused checks the kind and the words of an error.
func refused(t *testing.T, err error, kind fault.Kind, message string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s: %s", kind, message)
	}
	if f := fault.As(err); f.Kind != kind || f.Message != message {
		t.Errorf("got  %s: %q\nwant %s: %q", f.Kind, f.Message, kind, message)
	}
}
