package tritontest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// lifecycle loads and unloads a model.
func (x *suite) lifecycle(t *testing.T) {
	const name = "conformance_identity"
	ctx := x.ctx(t)
	if err := x.admin.Unload(ctx, name); err != nil { // a previous run may have been aborted
		t.Fatal(err)
	}
	_, err := x.client.Infer(ctx, &triton.Request{Model: "no_such_model"})
	wantFault(t, err, fault.NotFound, "Request for unknown model: 'no_such_model' is not found")
	wantLoadFailure(t, x.admin.Load(ctx, "no_such_model", ""),
		"failed to load 'no_such_model', failed to poll from model repository")
	if err := x.admin.Unload(ctx, "no_such_model"); err != nil {
		t.Errorf("unloading an unknown model: %v", err)
	}

	x.Install(t, name)
	x.checkState(t, name, false)
	if err := x.admin.Load(ctx, name, ""); err != nil {
		t.Fatal(err)
	}
	x.checkState(t, name, true)
	x.checkDescription(t, name)

	_, err = x.client.Infer(ctx, &triton.Request{Model: name, Version: "9"})
	wantFault(t, err, fault.NotFound, "Request for unknown model: 'conformance_identity' version 9 is not found")
	if err := x.admin.Unload(ctx, name); err != nil {
		t.Fatal(err)
	}
	x.checkState(t, name, false)
	_, err = x.client.Infer(ctx, &triton.Request{Model: name})
	wantFault(t, err, fault.Unavailable, "Request for unknown model: 'conformance_identity' has no available versions")
	x.Remove(t, name)
}

// checkState checks the states of a model in the repository index.
func (x *suite) checkState(t *testing.T, name string, isReady bool) {
	t.Helper()
	states, err := x.admin.states(x.ctx(t), name)
	if err != nil {
		t.Fatal(err)
	}
	if len(states) == 0 || slices.Contains(states, ready) != isReady {
		t.Errorf("the index lists %s with states %q; want ready %v", name, states, isReady)
	}
}

// wantLoadFailure checks the error of a load that failed before any version was loaded.
func wantLoadFailure(t *testing.T, err error, message string) {
	t.Helper()
	if s := status.Convert(err); s.Code() != codes.Internal || s.Message() != message {
		t.Errorf("got %v, want %v: %s", err, codes.Internal, message)
	}
}

// checkDescription checks configuration and metadata of the identity model.
func (x *suite) checkDescription(t *testing.T, name string) {
	t.Helper()
	config, err := x.client.ModelConfig(x.ctx(t), name)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := config.Input("FP16")
	if config.Name != name || config.Backend != "python" || config.MaxBatch != 0 || config.Decoupled ||
		config.MaxQueueDelay != nil || config.Parameters["model_id"] != "conformance/identity" ||
		config.Concurrency() != 1 || len(config.Inputs) != datatypes ||
		in.Datatype != triton.FP16 || !in.Optional || !slices.Equal(in.Shape, []int64{-1}) {
		t.Errorf("config: %+v", config)
	}
	inputs, outputs, err := x.client.ModelTensors(x.ctx(t), name)
	if err != nil || len(inputs) != datatypes || len(outputs) != datatypes {
		t.Errorf("tensors: %+v, %+v, %v", inputs, outputs, err)
	}
}

// datatypes is the number of datatypes of the protocol.
const datatypes = 14

// hasDelay reports whether a model batches dynamically with the given maximum queue delay.
func hasDelay(c *triton.ModelConfig, delay time.Duration) bool {
	return c.MaxQueueDelay != nil && *c.MaxQueueDelay == delay
}

// override reloads a model with a configuration override.
func (x *suite) override(t *testing.T) {
	const name = "conformance_slow"
	x.load(t, name)
	config, err := x.client.ModelConfig(x.ctx(t), name)
	if err != nil {
		t.Fatal(err)
	}
	if !hasDelay(config, 100*time.Microsecond) || config.MaxBatch != 4 {
		t.Fatalf("config: %+v", config)
	}
	x.reconfigure(t, map[string]any{"max_queue_delay_microseconds": 2500})
	if config, err = x.client.ModelConfig(x.ctx(t), name); err != nil {
		t.Fatal(err)
	}
	if !hasDelay(config, 2500*time.Microsecond) || config.Parameters["pooling"] != "mean" {
		t.Errorf("after the override: %+v", config)
	}
	wantLoadFailure(t, x.admin.Load(x.ctx(t), name, "{"),
		"failed to load 'conformance_slow', failed to poll from model repository")
	x.infer(t, name, triton.New("MILLISECONDS", []int64{1, 1}, []int32{0}))
}

// reconfigure reloads the slow model with other settings of the dynamic batcher.
func (x *suite) reconfigure(t *testing.T, batching map[string]any) {
	t.Helper()
	tensor := func(name string) any {
		return map[string]any{"name": name, "data_type": "TYPE_INT32", "dims": []int{1}}
	}
	config, err := json.Marshal(map[string]any{
		"name":             "conformance_slow",
		"backend":          "python",
		"max_batch_size":   4,
		"input":            []any{tensor("MILLISECONDS")},
		"output":           []any{tensor("SLEPT"), tensor("CANCELED")},
		"dynamic_batching": batching,
		"parameters":       map[string]any{"pooling": map[string]any{"string_value": "mean"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.admin.Load(x.ctx(t), "conformance_slow", string(config)); err != nil {
		t.Fatal(err)
	}
}
