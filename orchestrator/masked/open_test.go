package masked

import (
	"testing"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/batching"
	"retort/orchestrator/triton/tritontest"
)

// A model without a batch size does not inherit the one of a model opened before.
func TestBatchSizeOfEachModel(t *testing.T) {
	small := toy(t)
	small.Config.Name = "small"
	small.Config.MaxBatchSize = 2
	large := toy(t)
	large.Config.Name = "large"
	small.Name = "small"
	large.Name = "large"
	server := tritontest.Start(t, small, large)
	open := Opener(server.Client(), batching.Options{MaxTokens: 1 << 20})
	models := map[string]Model{}
	for _, name := range []string{"small", "large"} {
		config, err := server.Client().ModelConfig(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if name == "large" {
			config.MaxBatch = 0 // no limit: the backend bounds the batches
		}
		entry := &triton.Model{Name: name, Config: config, Versions: []string{"1"}, Dir: "testdata/toy"}
		if models[name], err = open(entry); err != nil {
			t.Fatal(err)
		}
	}
	rows := make([]Row, 8)
	for i := range rows {
		rows[i] = Row{IDs: models["large"].Row([]int32{models["large"].Mask()}, Target{})}
	}
	for name, want := range map[string]int{"small": 4, "large": 1} {
		before := len(server.Calls())
		if _, err := models[name].Unmask(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if calls := len(server.Calls()) - before; calls != want {
			t.Errorf("8 rows of the model %s are %d calls, want %d", name, calls, want)
		}
	}
}
