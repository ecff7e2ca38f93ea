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

// killed is what Triton answers for a model whose process is gone.
func killed(*triton.Request) error {
	return tritontest.Refuse(codes.Internal, "Stub process 'echo_0_0' is not healthy.")
}

// A model that died on one of two replicas costs no request, gets no more of them, and is used again once it answers.
func TestSickModelOnOneOfTwoReplicas(t *testing.T) {
	a, b := tritontest.Start(t, tritontest.Echo(t)), tritontest.Start(t, tritontest.Echo(t))
	c := tritontest.Dial(t, triton.Config{URLs: []string{a.URL(), b.URL()}})
	for range 4 {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Fatal(err)
		}
	}
	var asked atomic.Int64
	a.Fail(func(r *triton.Request) error {
		asked.Add(1)
		return killed(r)
	})
	begun := time.Now()
	for range 20 {
		if _, err := c.Infer(t.Context(), echoRequest()); err != nil {
			t.Errorf("beside a replica that answers: %v", err)
		}
		responses, err := c.Stream(t.Context(), echoRequest())
		if err != nil {
			t.Fatalf("a stream: %v", err)
		}
		for range responses {
			break
		}
	}
	// The first failures find it out; from then on it is asked by probes alone, at most one in each period.
	probes := int64(time.Since(begun) / tritontest.ProbeEvery)
	if n := asked.Load(); n > 10+probes {
		t.Errorf("the sick replica was asked %d times for 40 requests, %d probes included", n, probes)
	}
	a.Fail(nil)
	before := len(a.Calls())
	tritontest.Eventually(t, "the model is used again", func() bool {
		_, err := c.Infer(t.Context(), echoRequest())
		return err == nil && len(a.Calls()) > before+2
	})
}

// Readiness and the list of models tell of a model that no replica can answer, and requests for it are refused at once.
func TestSickModelEverywhere(t *testing.T) {
	s := tritontest.Start(t, embedder(t, "a", "lab/a"), embedder(t, "b", "lab/b"))
	client := s.Client()
	registry := discovery.NewRegistry(client, discovery.Config{Every: 10 * time.Millisecond})
	t.Cleanup(registry.Close)
	catalog := discovery.NewCatalog(registry, "embedding", zerolog.Nop(), func(int) {}, func(m *triton.Model) (string, error) { return m.Name, nil })
	tritontest.Eventually(t, "both models are found", func() bool { return len(catalog.IDs()) == 2 })
	request := func() *triton.Request {
		return &triton.Request{Model: "a", Inputs: []triton.Tensor{triton.Float32s("x", []int64{1, 2}, []float32{1, 2})}}
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
		t.Errorf("the request that finds it: %v", err)
	}
	tritontest.Eventually(t, "the model is not listed", func() bool { return len(catalog.IDs()) == 1 && catalog.Ready() == nil })
	if _, err := catalog.Find("lab/a"); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("the sick model: %v", err)
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
	tritontest.Eventually(t, "the model is well again", func() bool { _, err := catalog.Find("lab/a"); return err == nil })
	s.Unload("a")
	tritontest.Eventually(t, "a model that was well when it left does not exist", func() bool {
		_, err := catalog.Find("lab/a")
		return fault.KindOf(err) == fault.NotFound
	})
}

// A request that a healthy model cannot answer does not make it sick.
func TestBadRequestsMakeNoModelSick(t *testing.T) {
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
	until := time.Now().Add(300 * time.Millisecond)
	for time.Now().Before(until) {
		request := echoRequest()
		request.ID = "bad"
		if _, err := c.Infer(context.Background(), request); fault.KindOf(err) != fault.Internal {
			t.Fatalf("the bad request: %v", err)
		}
		if _, err := c.Infer(context.Background(), echoRequest()); err != nil {
			t.Fatalf("a good request beside bad ones: %v", err)
		}
	}
}

// embedder is an entry of the embedding API with a public id.
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

// Probes are made from the model's configuration: nothing that a client sent is sent again.
func TestProbesHoldNothingOfClients(t *testing.T) {
	const secret = 42
	s := tritontest.Start(t, tritontest.Echo(t))
	c := s.Client()
	var sent, seen, probes atomic.Int64
	s.Fail(func(r *triton.Request) error {
		values, err := r.Inputs[0].Float32s()
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
	tritontest.Eventually(t, "a failure has the model probed", func() bool {
		send("bad")
		return probes.Load() > 3 || seen.Load() > sent.Load()
	})
	if seen.Load() != sent.Load() {
		t.Errorf("the server has seen %d requests of clients, %d were sent", seen.Load(), sent.Load())
	}
}
