package discovery_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/discovery"
	"retort/orchestrator/triton/tritontest"
)

const delayedConfig = tritontest.EchoConfig + ` parameters { key: "pooling" value { string_value: "cls" } }
dynamic_batching { preferred_batch_size: [ 4 ] max_queue_delay_microseconds: 100 }`

func delayedModel(t testing.TB) tritontest.Model {
	m := tritontest.Echo(t)
	m.Config = tritontest.Config(t, delayedConfig)
	return m
}

// startRegistry starts a registry that sets a queue delay of 500 µs for all models.
func startRegistry(t *testing.T, servers ...*tritontest.Server) {
	t.Helper()
	var config triton.Config
	for _, s := range servers {
		config.URLs = append(config.URLs, s.URL())
	}
	delay := 500 * time.Microsecond
	r := discovery.NewRegistry(tritontest.Dial(t, config), discovery.Config{
		Every:      10 * time.Millisecond,
		QueueDelay: &delay,
	})
	t.Cleanup(r.Close)
}

// awaitConfig waits until the configuration of a model on a server meets a condition, and returns it.
func awaitConfig(
	t *testing.T, s *tritontest.Server, name string, meets func(*triton.ModelConfig) bool,
) *triton.ModelConfig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		c, err := s.Client().ModelConfig(ctx, name)
		if err == nil && meets(c) {
			return c
		}
		if ctx.Err() != nil {
			t.Fatalf("%s on %s: %+v, %v", name, s.URL(), c, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func hasDelay(delay time.Duration) func(*triton.ModelConfig) bool {
	return func(c *triton.ModelConfig) bool { return c.MaxQueueDelay != nil && *c.MaxQueueDelay == delay }
}

// The delay is set on every replica, again after a load from files, and other settings stay.
func TestQueueDelayOnEveryReplica(t *testing.T) {
	plain := tritontest.Echo(t)
	plain.Config.Name = "plain"
	a := tritontest.Start(t, delayedModel(t), plain)
	b := tritontest.Start(t, delayedModel(t))
	startRegistry(t, a, b)
	for _, s := range []*tritontest.Server{a, b} {
		c := awaitConfig(t, s, "echo", hasDelay(500*time.Microsecond))
		if c.Parameters["pooling"] != "cls" || c.MaxBatch != 8 || c.Concurrency() != 4 {
			t.Errorf("other settings: %+v", c)
		}
	}
	if c := awaitConfig(t, a, "plain", func(*triton.ModelConfig) bool { return true }); c.MaxQueueDelay != nil {
		t.Errorf("a model without dynamic batching: %+v", c)
	}
	later := delayedModel(t)
	later.Versions = []string{"2"}
	a.Put(later)
	a.Load("echo")
	awaitConfig(t, a, "echo", hasDelay(500*time.Microsecond))
	later.Config.Name = "later"
	b.Load(b.Put(later))
	awaitConfig(t, b, "later", hasDelay(500*time.Microsecond))
}

// A model whose configuration has unknown fields keeps its delay, since an override would lose them.
func TestQueueDelayKeepsUnknownFields(t *testing.T) {
	newer := delayedModel(t)
	newer.Config.Name = "newer"
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 5000, protowire.VarintType), 1)
	newer.Config.GetDynamicBatching().ProtoReflect().SetUnknown(unknown)
	s := tritontest.Start(t, newer, delayedModel(t))
	startRegistry(t, s)
	awaitConfig(t, s, "echo", hasDelay(500*time.Microsecond))
	awaitLooks(t, s)
	awaitConfig(t, s, "newer", hasDelay(100*time.Microsecond))
}
