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

func delayed(t testing.TB) tritontest.Model {
	m := tritontest.Echo(t)
	m.Config = tritontest.Config(t, delayedConfig)
	return m
}

// setDelay starts a registry with a queue delay of 500 µs for all models.
func setDelay(t *testing.T, servers ...*tritontest.Server) {
	t.Helper()
	var config triton.Config
	for _, s := range servers {
		config.URLs = append(config.URLs, s.URL())
	}
	delay := 500 * time.Microsecond
	r := discovery.NewRegistry(tritontest.Dial(t, config), discovery.Config{Every: 10 * time.Millisecond, QueueDelay: &delay})
	t.Cleanup(r.Close)
}

// config waits until the model's configuration on that server is as wanted, and returns it.
func config(t *testing.T, s *tritontest.Server, name string, is func(*triton.ModelConfig) bool) *triton.ModelConfig {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		c, err := s.Client().ModelConfig(ctx, name)
		if err == nil && is(c) {
			return c
		}
		if ctx.Err() != nil {
			t.Fatalf("%s on %s: %+v, %v", name, s.URL(), c, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func batches(delay time.Duration) func(*triton.ModelConfig) bool {
	return func(c *triton.ModelConfig) bool { return c.MaxQueueDelay != nil && *c.MaxQueueDelay == delay }
}

// Every replica gets the delay, also one that was loaded anew from its files, and the rest of the configuration stays.
func TestQueueDelayOnEveryReplica(t *testing.T) {
	plain := tritontest.Echo(t)
	plain.Config.Name = "plain"
	a, b := tritontest.Start(t, delayed(t), plain), tritontest.Start(t, delayed(t))
	setDelay(t, a, b)
	for _, s := range []*tritontest.Server{a, b} {
		c := config(t, s, "echo", batches(500*time.Microsecond))
		if c.Parameters["pooling"] != "cls" || c.MaxBatch != 8 || c.Concurrency() != 4 {
			t.Errorf("the rest of the configuration: %+v", c)
		}
	}
	if c := config(t, a, "plain", func(*triton.ModelConfig) bool { return true }); c.MaxQueueDelay != nil {
		t.Errorf("a model that does not batch: %+v", c)
	}
	later := delayed(t)
	later.Versions = []string{"2"}
	a.Put(later)
	a.Load("echo")
	config(t, a, "echo", batches(500*time.Microsecond))
	later.Config.Name = "later"
	b.Load(b.Put(later))
	config(t, b, "later", batches(500*time.Microsecond))
}

// Fields of a newer Triton would be lost by writing the configuration again, so such a model keeps its delay.
func TestQueueDelayKeepsWhatItDoesNotKnow(t *testing.T) {
	newer := delayed(t)
	newer.Config.Name = "newer"
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 5000, protowire.VarintType), 1)
	newer.Config.GetDynamicBatching().ProtoReflect().SetUnknown(unknown)
	s := tritontest.Start(t, newer, delayed(t))
	setDelay(t, s)
	config(t, s, "echo", batches(500*time.Microsecond))
	awaitLooks(t, s)
	config(t, s, "newer", batches(100*time.Microsecond))
}
