package discovery_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/triton/tritontest"
)

// toyModel returns a model of an API with a public id.
func toyModel(t *testing.T, name, api, id string) tritontest.Model {
	return tritontest.Model{Config: tritontest.Config(t, `name: "`+name+`" backend: "python"
		input { name: "x" data_type: TYPE_FP32 dims: [1] } output { name: "y" data_type: TYPE_FP32 dims: [3] }
		parameters { key: "retort_api" value { string_value: "`+api+`" } }
		parameters { key: "model_id" value { string_value: "`+id+`" } }`)}
}

func TestCatalog(t *testing.T) {
	server := tritontest.Start(t, toyModel(t, "a", "embedding", "lab/a"), toyModel(t, "b", "embedding", "lab/broken"),
		toyModel(t, "c", "embedding", "lab/a"), toyModel(t, "d", "ranking", "lab/d"))
	registry := discovery.NewRegistry(server.Client(), discovery.Config{Every: 10 * time.Millisecond})
	t.Cleanup(registry.Close)
	var opened, ready atomic.Int64
	observe := func(n int) { ready.Store(int64(n)) }
	catalog := discovery.NewCatalog(registry, "embedding", zerolog.Nop(), observe,
		func(m *triton.Model) (string, error) {
			opened.Add(1)
			if m.PublicID() == "lab/broken" {
				return "", errors.New("no tokenizer")
			}
			size, err := m.OutputSize("y")
			if size != 3 || err != nil {
				t.Errorf("size %d %v", size, err)
			}
			return m.Name, nil
		})
	tritontest.Eventually(t, "the catalog is ready", func() bool { return catalog.Ready() == nil })
	if name, err := catalog.Find("lab/a"); name != "a" || err != nil {
		t.Errorf("the first of two models with an id must be served, got %q, %v", name, err)
	}
	if ids := catalog.IDs(); len(ids) != 1 || ready.Load() != 1 {
		t.Errorf("ids %v, observed %d", ids, ready.Load())
	}
	if _, err := catalog.Find("lab/d"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a model of another API: %v", err)
	}
	if name, err := catalog.Default(""); name != "a" || err != nil {
		t.Errorf("without a configured model the first must be served, got %q, %v", name, err)
	}
	if _, err := catalog.Default("lab/d"); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a configured model that is absent: %v", err)
	}
	before := opened.Load()
	server.Unload("a")
	tritontest.Eventually(t, "the second model with the id is served", func() bool {
		name, _ := catalog.Find("lab/a")
		return name == "c"
	})
	if opened.Load() != before {
		t.Error("a model that did not change was opened again")
	}
	server.Unload("c")
	tritontest.Eventually(t, "the catalog is empty", func() bool {
		return fault.KindOf(catalog.Ready()) == fault.Unavailable && len(catalog.IDs()) == 0
	})
	server.Load("a")
	tritontest.Eventually(t, "the catalog is ready again", func() bool { return catalog.Ready() == nil })
	server.Stop()
	tritontest.Eventually(t, "the catalog is not ready", func() bool {
		return fault.KindOf(catalog.Ready()) == fault.Unavailable
	})
	if _, err := catalog.Find("lab/a"); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("a model while Triton is down: %v", err)
	}
	if len(catalog.IDs()) != 1 {
		t.Error("the catalog has dropped its models while Triton is down")
	}
}
