package tritontest

import (
	"context"
	"sync"
	"testing"
	"time"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
)

// discovery changes models under steady load on another model. No request may fail, and a registry must show each
// change within 5 seconds.
func (x *suite) discovery(t *testing.T) {
	registry := discovery.NewRegistry(x.client, discovery.Config{Every: 200 * time.Millisecond})
	t.Cleanup(registry.Close)
	if err := registry.Refresh(x.ctx(t)); err != nil {
		t.Fatal(err)
	}
	models := registry.Snapshot().Of("conformance")
	if len(models) != 1 || models[0].Name != "conformance_identity" || models[0].Version() != "1" {
		t.Errorf("models of the API: %+v", models)
	}
	before, _ := registry.Snapshot().Model("conformance_identity")
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
	if m, _ := s.Model("conformance_identity"); m != before {
		t.Error("an unchanged model has a new *triton.Model")
	}
}

// within5s waits for a snapshot that meets a condition.
func (x *suite) within5s(
	t *testing.T, registry *discovery.Registry, what string, meets func(*discovery.Snapshot) bool,
) *discovery.Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx(t), 5*time.Second)
	defer cancel()
	s, err := Wait(ctx, registry, meets)
	if err != nil {
		t.Fatalf("%s is not shown: %+v", what, registry.Snapshot())
	}
	return s
}

// steadyLoad calls the identity model until stop is called, and fails the test on each error.
func (x *suite) steadyLoad(t *testing.T) (stop func()) {
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
				_, err := x.client.Infer(context.Background(),
					request("conformance_identity", triton.Float32s("FP32", []int64{1}, []float32{1})))
				if err != nil {
					t.Errorf("under steady load: %v", err)
				}
			}
		})
	}
	return func() {
		close(done)
		clients.Wait()
	}
}
