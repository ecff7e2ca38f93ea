package tritontest

import (
	"context"
	"sync"
	"testing"
	"time"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
)

// discovery changes models under steady load on another one, which must not fail once, and wants to see each change
// within 5 seconds.
func (x *trial) discovery(t *testing.T) {
	registry := discovery.NewRegistry(x.client, discovery.Config{Every: 200 * time.Millisecond})
	t.Cleanup(registry.Close)
	if err := registry.Refresh(x.ctx(t)); err != nil {
		t.Fatal(err)
	}
	if of := registry.Snapshot().Of("conformance"); len(of) != 1 || of[0].Name != "conformance_identity" || of[0].Version() != "1" {
		t.Errorf("models of the API: %+v", of)
	}
	stays, _ := registry.Snapshot().Model("conformance_identity")
	stop := x.steadyLoad(t)
	defer stop()

	x.reconfigure(t, map[string]any{"max_queue_delay_microseconds": 7000})
	x.within5s(t, registry, "a changed configuration", func(s *discovery.Snapshot) bool {
		m, ok := s.Model("conformance_slow")
		return ok && hasDelay(m.Config, 7*time.Millisecond) && m.Config.Parameters["pooling"] == "mean"
	})
	if err := x.admin.Unload(x.ctx(t), "conformance_count"); err != nil {
		t.Fatal(err)
	}
	x.within5s(t, registry, "an unloaded model", func(s *discovery.Snapshot) bool {
		_, ok := s.Model("conformance_count")
		return !ok && !s.Stale
	})
	if err := x.admin.Load(x.ctx(t), "conformance_count", ""); err != nil {
		t.Fatal(err)
	}
	s := x.within5s(t, registry, "a loaded model", func(s *discovery.Snapshot) bool {
		m, ok := s.Model("conformance_count")
		return ok && m.Config.Decoupled
	})
	if m, _ := s.Model("conformance_identity"); m != stays {
		t.Error("a model that stayed as it was has become another")
	}
}

// within5s waits for a snapshot that shows what was done.
func (x *trial) within5s(t *testing.T, registry *discovery.Registry, what string, shows func(*discovery.Snapshot) bool) *discovery.Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx(t), 5*time.Second)
	defer cancel()
	s, err := Wait(ctx, registry, shows)
	if err != nil {
		t.Fatalf("%s does not show: %+v", what, registry.Snapshot())
	}
	return s
}

// steadyLoad asks the identity model until it is stopped, and fails the test for each answer that is an error.
func (x *trial) steadyLoad(t *testing.T) (stop func()) {
	done := make(chan struct{})
	var clients sync.WaitGroup
	for range 2 {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					if n == 0 {
						t.Error("no request was answered under steady load")
					}
					return
				case <-time.After(2 * time.Millisecond):
				}
				_, err := x.client.Infer(context.Background(), &triton.Request{
					Model: "conformance_identity", Inputs: []triton.Tensor{triton.Float32s("FP32", []int64{1}, []float32{1})}})
				if err != nil {
					t.Errorf("under steady load: %v", err)
				}
			}
		})
	}
	return func() { close(done); clients.Wait() }
}
