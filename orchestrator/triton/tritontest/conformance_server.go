package tritontest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

func (x *trial) server(t *testing.T) {
	info, err := x.client.Admin().ServerMetadata(x.ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	if info.Name == "" || info.Version == "" || !slices.Contains(info.Extensions, "model_repository") {
		t.Errorf("server metadata: %+v", info)
	}
	if !x.client.Live() {
		t.Errorf("a server that answers is not live: %+v", x.client.Replicas())
	}
}

// lifecycle follows one model from unknown to unloaded.
func (x *trial) lifecycle(t *testing.T) {
	const name = "conformance_identity"
	ctx := x.ctx(t)
	if err := x.client.Admin().Unload(ctx, name); err != nil { // a run before this one may have been cut short
		t.Fatal(err)
	}
	_, err := x.client.Infer(ctx, &triton.Request{Model: "no_such_model"})
	refused(t, err, fault.NotFound, "Request for unknown model: 'no_such_model' is not found")
	refused(t, x.client.Admin().Load(ctx, "no_such_model", nil), fault.NotFound,
		"failed to load 'no_such_model', failed to poll from model repository")
	if err := x.client.Admin().Unload(ctx, "no_such_model"); err != nil {
		t.Errorf("unloading what is not there: %v", err)
	}
	_, err = x.client.Admin().Statistics(ctx, "no_such_model", "")
	refused(t, err, fault.NotFound, "requested model 'no_such_model' is not available")

	x.Install(t, name)
	x.state(t, name, false)
	if err := x.client.Admin().Load(ctx, name, nil); err != nil {
		t.Fatal(err)
	}
	x.state(t, name, true)
	// Readiness of the server is not compared: a real one that has seen failed loads or deleted models says no although
	// all it serves is ready.
	if _, err := x.client.Admin().ServerReady(ctx); err != nil {
		t.Error(err)
	}
	x.described(t, name)

	_, err = x.client.Infer(ctx, &triton.Request{Model: name, Version: "9"})
	refused(t, err, fault.NotFound, "Request for unknown model: 'conformance_identity' version 9 is not found")
	if err := x.client.Admin().Unload(ctx, name); err != nil {
		t.Fatal(err)
	}
	x.state(t, name, false)
	_, err = x.client.Infer(ctx, &triton.Request{Model: name})
	refused(t, err, fault.Unavailable, "Request for unknown model: 'conformance_identity' has no available versions")
	Unloaded(x.client, name)
	x.Remove(t, name)
}

// state checks what the index and readiness say.
func (x *trial) state(t *testing.T, name string, ready bool) {
	t.Helper()
	entries, err := x.client.Index(x.ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	listed, readyThere := false, false
	for _, e := range entries {
		if e.Name == name {
			listed = true
			readyThere = readyThere || e.State == triton.Ready
		}
	}
	if !listed || readyThere != ready {
		t.Errorf("index says listed %v, ready %v; want ready %v: %+v", listed, readyThere, ready, entries)
	}
	for _, version := range []string{"", "1"} {
		if got, err := x.client.Admin().ModelReady(x.ctx(t), name, version); err != nil || got != ready {
			t.Errorf("ModelReady(%q) = %v, %v; want %v", version, got, err, ready)
		}
	}
}

// described checks configuration and metadata of the identity model.
func (x *trial) described(t *testing.T, name string) {
	t.Helper()
	config, err := x.client.ModelConfig(x.ctx(t), name, "")
	if err != nil {
		t.Fatal(err)
	}
	in, _ := config.Input("FP16")
	if config.Name != name || config.Backend != "python" || config.MaxBatch != 0 || config.Decoupled || config.Batching != nil ||
		config.Parameters["model_id"] != "conformance/identity" || config.Concurrency() != 1 ||
		len(config.Inputs) != len(triton.Datatypes) || in.Datatype != triton.FP16 || !in.Optional || !slices.Equal(in.Shape, []int64{-1}) {
		t.Errorf("config: %+v", config)
	}
	info, err := x.client.ModelMetadata(x.ctx(t), name, "")
	if err != nil {
		t.Fatal(err)
	}
	if info.Name != name || !slices.Equal(info.Versions, []string{"1"}) || len(info.Outputs) != len(triton.Datatypes) {
		t.Errorf("metadata: %+v", info)
	}
}

// override loads a model with a changed configuration while it serves.
func (x *trial) override(t *testing.T) {
	const name = "conformance_slow"
	x.load(t, name)
	config, err := x.client.ModelConfig(x.ctx(t), name, "1")
	if err != nil {
		t.Fatal(err)
	}
	if config.Batching == nil || config.Batching.MaxQueueDelay != 100*time.Microsecond || config.MaxBatch != 4 {
		t.Fatalf("config: %+v, batching %+v", config, config.Batching)
	}
	x.reconfigure(t, map[string]any{"max_queue_delay_microseconds": 2500})
	if config, err = x.client.ModelConfig(x.ctx(t), name, ""); err != nil {
		t.Fatal(err)
	}
	if config.Batching == nil || config.Batching.MaxQueueDelay != 2500*time.Microsecond || config.Parameters["pooling"] != "mean" {
		t.Errorf("after the override: %+v, batching %+v", config, config.Batching)
	}
	refused(t, x.client.Admin().Load(x.ctx(t), name, &triton.LoadOptions{Config: "{"}), fault.NotFound,
		"failed to load 'conformance_slow', failed to poll from model repository")
	refused(t, x.client.Admin().Load(x.ctx(t), name, &triton.LoadOptions{Files: map[string][]byte{"1/model.py": nil}}), fault.NotFound,
		"failed to load 'conformance_slow', failed to poll from model repository")
	x.infer(t, name, triton.Int32s("MILLISECONDS", []int64{1, 1}, []int32{0}))
}

// reconfigure loads the slow model with other settings of the dynamic batcher.
func (x *trial) reconfigure(t *testing.T, batching map[string]any) {
	t.Helper()
	tensor := func(name string) any {
		return map[string]any{"name": name, "data_type": "TYPE_INT32", "dims": []int{1}}
	}
	config, err := json.Marshal(map[string]any{
		"name": "conformance_slow", "backend": "python", "max_batch_size": 4,
		"input": []any{tensor("MILLISECONDS")}, "output": []any{tensor("SLEPT"), tensor("CANCELED")},
		"dynamic_batching": batching,
		"parameters":       map[string]any{"pooling": map[string]any{"string_value": "mean"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.client.Admin().Load(x.ctx(t), "conformance_slow", &triton.LoadOptions{Config: string(config)}); err != nil {
		t.Fatal(err)
	}
}

func (x *trial) statistics(t *testing.T) {
	before := x.counted(t)
	x.infer(t, "conformance_slow", triton.Int32s("MILLISECONDS", []int64{3, 1}, []int32{20, 20, 20}))
	// Triton counts an execution after it has answered.
	after := x.counted(t)
	for until := time.Now().Add(5 * time.Second); after.Success.Count == before.Success.Count && time.Now().Before(until); after = x.counted(t) {
		time.Sleep(10 * time.Millisecond)
	}
	if after.Rows-before.Rows != 3 || after.Executions-before.Executions != 1 || after.Batches[3]-before.Batches[3] != 1 {
		t.Errorf("3 rows in one request: before %+v, after %+v", before, after)
	}
	if after.Compute.Total-before.Compute.Total < 20*time.Millisecond || time.Since(after.LastInference) > time.Minute {
		t.Errorf("times: before %+v, after %+v", before, after)
	}
}

func (x *trial) counted(t *testing.T) triton.Statistics {
	t.Helper()
	all, err := x.client.Admin().Statistics(x.ctx(t), "conformance_slow", "")
	if err != nil || len(all) != 1 {
		t.Fatalf("statistics: %+v, %v", all, err)
	}
	return all[0]
}
