package triton_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"google.golang.org/grpc/codes"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/triton/tritontest"
)

// killed returns Triton's error for a model whose process has ended.
func killed(*triton.Request) error {
	return tritontest.Refuse(codes.Internal, "Stub process 'echo_0_0' is not healthy.")
}

// If a model dies on one of two replicas, no request fails, and that replica gets none until the model answers again.
func TestSickModelOnOneOfTwoReplicas(t *testing.T) {
	a := tritontest.Start(t, tritontest.Echo(t))
	b := tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{a.URL(), b.URL()}})
	for range 4 {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Fatal(err)
		}
	}
	var calls atomic.Int64
	a.Fail(func(r *triton.Request) error {
		calls.Add(1)
		return killed(r)
	})
	start := time.Now()
	for range 20 {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Errorf("with a healthy replica: %v", err)
		}
		responses, err := c.Stream(t.Context(), echoRequest())
		if err != nil {
			t.Fatalf("a stream: %v", err)
		}
		for range responses {
			break
		}
	}
	// After the first failures the replica gets only probes, at most one every ProbeEvery.
	probes := int64(time.Since(start) / tritontest.ProbeEvery)
	if n := calls.Load(); n > 10+probes {
		t.Errorf("the sick replica got %d calls for 40 requests, including %d probes", n, probes)
	}
	a.Fail(nil)
	before := len(a.Calls())
	tritontest.Eventually(t, "the model is used again", func() bool {
		_, err := c.Infer(t.Context(), echoRequest())
		return err == nil && len(a.Calls()) > before+2
	})
}

// A model that is sick on all replicas is not listed, and requests for it are refused at once.
func TestSickModelEverywhere(t *testing.T) {
	s := tritontest.Start(t, embedder(t, "a", "lab/a"), embedder(t, "b", "lab/b"))
	client := s.Client()
	registry := discovery.NewRegistry(client, discovery.Config{Every: 10 * time.Millisecond})
	t.Cleanup(registry.Close)
	open := func(m *triton.Model) (string, error) { return m.Name, nil }
	catalog := discovery.NewCatalog(registry, "embedding", zerolog.Nop(), func(int) {}, open)
	tritontest.Eventually(t, "both models are found", func() bool { return len(catalog.IDs()) == 2 })
	request := func() *triton.Request {
		x := triton.Float32s("x", []int64{1, 2}, []float32{1, 2})
		return &triton.Request{Model: "a", Inputs: []triton.Tensor{x}}
	}
	if _, err := client.Infer(t.Context(), request()); err != nil {
		t.Fatal(err)
	}
	s.Fail(func(r *triton.Request) error {
		if r.Model == "a" {
			return killed(r)
		}
		return nil
	})
	if _, err := client.Infer(t.Context(), request()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("the request that finds it dead: %v", err)
	}
	tritontest.Eventually(t, "the model is not listed", func() bool {
		return len(catalog.IDs()) == 1 && catalog.Ready() == nil
	})
	if _, err := catalog.Find("lab/a"); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("the sick model: %v", err)
	}
	if sick := catalog.Sick(); len(sick) != 1 || sick[0] != "a" {
		t.Errorf("sick: %v", sick)
	}
	if name, err := catalog.Find("lab/b"); err != nil || name != "b" {
		t.Errorf("the other model: %q, %v", name, err)
	}
	s.Unload("a")
	tritontest.Eventually(t, "the model is gone", func() bool {
		_, err := catalog.Find("lab/a")
		return err != nil && strings.Contains(err.Error(), "is being loaded again")
	})
	if _, err := catalog.Find("lab/a"); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("the sick model while it is loaded again: %v", err)
	}
	s.Fail(nil)
	s.Load("a")
	tritontest.Eventually(t, "the model is healthy again", func() bool {
		_, err := catalog.Find("lab/a")
		return err == nil
	})
	s.Unload("a")
	tritontest.Eventually(t, "a model that was unloaded while healthy does not exist", func() bool {
		_, err := catalog.Find("lab/a")
		return fault.KindOf(err) == fault.NotFound
	})
}

// A request that a healthy model cannot answer does not make it sick.
func TestBadRequestsDoNotMakeModelSick(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	c := s.Client()
	if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
		t.Fatal(err)
	}
	var bad atomic.Bool
	s.Fail(func(r *triton.Request) error {
		if bad.Load() && r.ID == "bad" {
			return tritontest.Refuse(codes.Internal, "index out of range")
		}
		return nil
	})
	bad.Store(true)
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		request := echoRequest()
		request.ID = "bad"
		if _, err := c.Infer(context.Background(), request); fault.KindOf(err) != fault.Internal {
			t.Fatalf("the bad request: %v", err)
		}
		if _, err := c.Infer(context.Background(), echoRequest()); err != nil {
			t.Fatalf("a good request among bad ones: %v", err)
		}
	}
}

// embedder returns a model of the embedding API with a public id.
func embedder(t *testing.T, name, id string) tritontest.Model {
	return tritontest.Model{
		Config: tritontest.Config(t, `
			name: "`+name+`" backend: "python" max_batch_size: 8
			input { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
			output { name: "x" data_type: TYPE_FP32 dims: [ -1 ] }
			parameters { key: "retort_api" value { string_value: "embedding" } }
			parameters { key: "model_id" value { string_value: "`+id+`" } }`),
		Infer: tritontest.Echo(t).Infer,
	}
}

// Probes contain no data of clients.
func TestProbesContainNoDataOfClients(t *testing.T) {
	const secret = 42
	s := tritontest.Start(t, tritontest.Echo(t))
	c := s.Client()
	var sent, seen, probes atomic.Int64
	s.Fail(func(r *triton.Request) error {
		values, err := triton.Values[float32](r.Inputs[0])
		switch {
		case err != nil:
			return err
		case r.ID == "probe":
			probes.Add(1)
		case values[0] == secret:
			seen.Add(1)
		}
		if r.ID == "bad" {
			return tritontest.Refuse(codes.Internal, "index out of range")
		}
		return nil
	})
	send := func(id string) {
		_, _ = c.Infer(t.Context(), &triton.Request{
			Model: "echo", ID: id, Inputs: []triton.Tensor{triton.Float32s("x", []int64{1, 1}, []float32{secret})},
		})
		sent.Add(1)
	}
	send("good")
	tritontest.Eventually(t, "the model is probed after a failure", func() bool {
		send("bad")
		return probes.Load() > 3 || seen.Load() > sent.Load()
	})
	if seen.Load() != sent.Load() {
		t.Errorf("the server received %d requests of clients, want %d", seen.Load(), sent.Load())
	}
}
