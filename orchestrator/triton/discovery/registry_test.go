package discovery_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
	pb "retort/orchestrator/triton/inferencepb"
	"retort/orchestrator/triton/tritontest"
)

func startWatching(t *testing.T, c *triton.Client, folder string) *discovery.Registry {
	r := discovery.NewRegistry(c, discovery.Config{Every: 10 * time.Millisecond, Repository: folder})
	t.Cleanup(r.Close)
	return r
}

// awaitLooks waits for several more looks at the server.
func awaitLooks(t *testing.T, s *tritontest.Server) {
	t.Helper()
	const several = 4 // the first may have started before
	before := s.RPCs("RepositoryIndex")
	tritontest.Eventually(t, "several looks", func() bool { return s.RPCs("RepositoryIndex") >= before+several })
}

func wait(
	t *testing.T, r *discovery.Registry, what string, meets func(*discovery.Snapshot) bool,
) *discovery.Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	s, err := tritontest.Wait(ctx, r, meets)
	if err != nil {
		t.Fatalf("%s: %v; last seen %+v", what, err, r.Snapshot())
	}
	return s
}

// While Triton is down its models stay in the stale snapshot, and an unchanged model is the same *Model afterwards.
func TestRegistrySurvivesRestartOfTriton(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	r := startWatching(t, s.Client(), "")
	seen := wait(t, r, "first", func(s *discovery.Snapshot) bool { return !s.Stale && len(s.Models) == 1 })
	model := seen.Models[0]
	if model.API() != "embedding" || model.Version() != "1" ||
		model.Config.MaxBatch != 8 || model.Config.Concurrency() != 4 ||
		!slices.Equal(model.Inputs[0].Shape, []int64{-1, 1}) || model.Dir != "" {
		t.Errorf("model: %+v, config %+v", model, model.Config)
	}
	s.Stop()
	seen = wait(t, r, "stale", func(s *discovery.Snapshot) bool { return s.Stale })
	if len(seen.Models) != 1 || seen.Models[0] != model || fault.KindOf(seen.Err) != fault.Unavailable {
		t.Errorf("stale: %+v", seen)
	}
	if err := r.Refresh(t.Context()); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("refresh without a server: %v", err)
	}
	s.Restart()
	seen = wait(t, r, "back", func(s *discovery.Snapshot) bool { return !s.Stale })
	if len(seen.Models) != 1 || seen.Models[0] != model || seen.Err != nil {
		t.Errorf("back: %+v", seen)
	}
}

func TestRegistryStartsWithoutTriton(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	s.Stop()
	r := startWatching(t, s.Client(), "")
	if seen := r.Snapshot(); !seen.Stale || fault.KindOf(seen.Err) != fault.Unavailable {
		t.Errorf("at first: %+v", seen)
	}
	s.Restart()
	wait(t, r, "a model", func(s *discovery.Snapshot) bool { return len(s.Of("embedding")) == 1 })
}

func TestRegistryFollowsTheRepository(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	r := startWatching(t, s.Client(), "")
	first := wait(t, r, "loaded", func(s *discovery.Snapshot) bool { return len(s.Models) == 1 }).Models[0]

	changed := tritontest.Echo(t)
	changed.Versions = []string{"1", "2", "10"}
	s.Put(changed)
	s.Load("echo")
	second := wait(t, r, "version 10", func(s *discovery.Snapshot) bool {
		return len(s.Models) == 1 && s.Models[0].Version() == "10"
	}).Models[0]
	if second == first || !slices.Equal(second.Versions, []string{"10"}) {
		t.Errorf("after the new version: %+v", second)
	}
	changed.Config = tritontest.Config(t, tritontest.EchoConfig+`
		version_policy { all { } } parameters { key: "pooling" value { string_value: "cls" } }`)
	s.Put(changed)
	s.Load("echo")
	wait(t, r, "a parameter", func(s *discovery.Snapshot) bool {
		m, ok := s.Model("echo")
		return ok && m.Config.Parameters["pooling"] == "cls" && slices.Equal(m.Versions, []string{"1", "2", "10"})
	})
	s.Unload("echo")
	wait(t, r, "gone", func(s *discovery.Snapshot) bool { return len(s.Models) == 0 })
}

// A snapshot has the models of all replicas. With a dead replica only those go that no other replica has.
func TestRegistryOfSeveralReplicas(t *testing.T) {
	other := tritontest.Echo(t)
	other.Config.Name = "other"
	a := tritontest.Start(t, tritontest.Echo(t))
	b := tritontest.Start(t, tritontest.Echo(t), other)
	c := tritontest.Dial(t, triton.Config{URLs: []string{a.URL(), b.URL()}})
	r := startWatching(t, c, "")
	wait(t, r, "both", func(s *discovery.Snapshot) bool { return len(s.Models) == 2 })
	b.Stop()
	seen := wait(t, r, "one", func(s *discovery.Snapshot) bool { return len(s.Models) == 1 })
	if seen.Stale || seen.Models[0].Name != "echo" {
		t.Errorf("%+v", seen)
	}
}

func TestRegistryNoticesFilesBesideTheConfiguration(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "echo", "tokenizer.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	write("{}")
	r := startWatching(t, tritontest.Start(t, tritontest.Echo(t)).Client(), folder)
	first := wait(t, r, "loaded", func(s *discovery.Snapshot) bool { return len(s.Models) == 1 }).Models[0]
	if first.Dir != filepath.Dir(file) {
		t.Errorf("folder %q", first.Dir)
	}
	write("{ }")
	wait(t, r, "a changed file", func(s *discovery.Snapshot) bool { return s.Models[0] != first })
}

func TestRegistryNotifiesOfChangesOnly(t *testing.T) {
	s := tritontest.Start(t, tritontest.Echo(t))
	r := startWatching(t, s.Client(), "")
	wait(t, r, "loaded", func(s *discovery.Snapshot) bool { return len(s.Models) == 1 })
	var mu sync.Mutex
	var counts []int
	stop := r.Follow(func(s *discovery.Snapshot) {
		mu.Lock()
		defer mu.Unlock()
		counts = append(counts, len(s.Models))
	})
	awaitLooks(t, s)
	s.Unload("echo")
	wait(t, r, "gone", func(s *discovery.Snapshot) bool { return len(s.Models) == 0 })
	s.Load("echo")
	wait(t, r, "back", func(s *discovery.Snapshot) bool { return len(s.Models) == 1 })
	stop()
	s.Unload("echo")
	wait(t, r, "gone again", func(s *discovery.Snapshot) bool { return len(s.Models) == 0 })
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(counts, []int{1, 0, 1}) {
		t.Errorf("notified of snapshots with %v models, want 1, 0 and 1", counts)
	}
}

// A follower is notified of a change only after it has returned from its first snapshot. Concurrent calls could leave
// it with the older one until the next change.
func TestFollowersAreNotifiedInOrder(t *testing.T) {
	s := tritontest.Start(t)
	r := discovery.NewRegistry(s.Client(), discovery.Config{Every: time.Hour}) // looks only when refreshed
	t.Cleanup(r.Close)
	s.Put(tritontest.Echo(t))
	refresh := func() {
		if err := r.Refresh(t.Context()); err != nil {
			t.Error(err)
		}
	}
	refresh()
	for range 20 { // the change may come before or after the follower returns
		var busy atomic.Bool
		var counts []int
		refreshed := make(chan struct{})
		stop := r.Follow(func(seen *discovery.Snapshot) {
			if !busy.CompareAndSwap(false, true) {
				t.Error("notified of two snapshots at a time")
			}
			defer busy.Store(false)
			if len(counts) == 0 {
				before := s.RPCs("ModelConfig")
				s.Load("echo")
				go func() {
					refresh()
					close(refreshed)
				}()
				tritontest.Eventually(t, "the model is described", func() bool {
					return s.RPCs("ModelConfig") > before
				})
			}
			counts = append(counts, len(seen.Models))
		})
		<-refreshed
		stop()
		if !slices.Equal(counts, []int{0, 1}) {
			t.Fatalf("notified of snapshots with %v models, want 0 and 1", counts)
		}
		s.Unload("echo")
		refresh()
	}
}

// Of many models each look describes some, which bounds the traffic. A new configuration, which no index shows, is
// found within a few looks, a new version at once.
func TestRegistryOfManyModels(t *testing.T) {
	const count = 200
	models := make([]tritontest.Model, count)
	for i := range models {
		models[i] = tritontest.Echo(t)
		models[i].Config.Name = fmt.Sprintf("echo%03d", i)
	}
	s := tritontest.Start(t, models...)
	r := discovery.NewRegistry(s.Client(), discovery.Config{Every: time.Hour})
	t.Cleanup(r.Close)
	look := func() int {
		t.Helper()
		before := s.RPCs("ModelConfig")
		if err := r.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		return s.RPCs("ModelConfig") - before
	}
	wait(t, r, "all models", func(s *discovery.Snapshot) bool { return len(s.Models) == count })
	if n := look(); n != 64 {
		t.Errorf("a look describes %d models of %d", n, count)
	}

	last := tritontest.Echo(t)
	last.Config.Name = "echo199"
	last.Config.Parameters["pooling"] = &pb.ModelParameter{StringValue: "cls"}
	s.Put(last)
	s.Load("echo199")
	for range 4 {
		look()
	}
	if m, _ := r.Snapshot().Model("echo199"); m.Config.Parameters["pooling"] != "cls" {
		t.Error("a changed configuration is not found within four looks")
	}
	last.Versions = []string{"1", "2"}
	s.Put(last)
	s.Load("echo199")
	look()
	if m, _ := r.Snapshot().Model("echo199"); m.Version() != "2" {
		t.Error("a new version is not found at once")
	}
}
