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

// models has the models of the suite for Triton's Python backend. conformance_models.go has the same models in Go.
//
//go:embed models
var models embed.FS

// Target is the server under test. It must run with explicit model control.
type Target struct {
	// URL is its address, for triton.Config.
	URL string
	// Install adds one of the conformance models to its repository, without loading it.
	Install func(t *testing.T, name string)
	// Remove removes the model from the repository.
	Remove func(t *testing.T, name string)
}

// Fake returns an in-process server as a target.
func Fake(t *testing.T) Target {
	s := Start(t)
	return Target{
		URL:     s.URL(),
		Install: func(t *testing.T, name string) { s.Put(conformanceModel(t, name)) },
		Remove:  func(_ *testing.T, name string) { s.Remove(name) },
	}
}

// Real returns the server at RETORT_TEST_TRITON_URL as a target. Its model repository is the folder
// RETORT_TEST_TRITON_REPOSITORY. Without these variables, Real skips the test.
func Real(t *testing.T) Target {
	url := os.Getenv("RETORT_TEST_TRITON_URL")
	folder := os.Getenv("RETORT_TEST_TRITON_REPOSITORY")
	if url == "" || folder == "" {
		t.Skip("RETORT_TEST_TRITON_URL and RETORT_TEST_TRITON_REPOSITORY " +
			"do not name a tritonserver with explicit model control")
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

// Conformance tests a server through the client. It unloads and removes the models that it installs. inFlight returns
// the number of the client's calls in flight.
func Conformance(t *testing.T, target Target, inFlight func(*triton.Client) int) {
	c, err := triton.Dial(triton.Config{URLs: []string{target.URL}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	x := &suite{Target: target, client: c, admin: NewAdmin(t, target.URL), inFlight: inFlight}
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

// suite is one run of Conformance.
type suite struct {
	Target
	client   *triton.Client
	admin    *Admin
	inFlight func(*triton.Client) int
}

func (x *suite) ctx(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// load installs and loads a model, and removes it when the test ends.
func (x *suite) load(t *testing.T, name string) {
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

// request returns a request for a model.
func request(model string, inputs ...triton.Tensor) *triton.Request {
	return &triton.Request{Model: model, Inputs: inputs}
}

// infer runs a model and fails the test on an error.
func (x *suite) infer(t *testing.T, model string, inputs ...triton.Tensor) *triton.Response {
	t.Helper()
	r, err := x.client.Infer(x.ctx(t), request(model, inputs...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantFault checks the kind and the message of a fault.
func wantFault(t *testing.T, err error, kind fault.Kind, message string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s: %s", kind, message)
	}
	if f := fault.As(err); f.Kind != kind || f.Message != message {
		t.Errorf("got  %s: %q\nwant %s: %q", f.Kind, f.Message, kind, message)
	}
}
