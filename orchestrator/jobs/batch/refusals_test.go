package batch

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/dialect"
	"retort/orchestrator/gateway"
	"retort/orchestrator/telemetry"
)

// A refusal names the path of every problem of the body. The code of a 404 depends on the kind of resource, not on the
// id.
func TestRefusals(t *testing.T) {
	api, err := gateway.New(t.Context(), setUp(t, echo).Service, func() bool { return false }, gateway.Options{
		Config:  gateway.Config{Concurrency: 4, Queue: 4, BodyLimit: 1 << 16, Timeout: time.Minute},
		Metrics: telemetry.NewMetrics(),
		Logger:  zerolog.Nop(),
	})
	if err != nil {
		t.Fatal(err)
	}
	const batches = "/v1/batches"
	for _, test := range []struct {
		method, path, body   string
		status               int
		message, param, code string
	}{
		{
			http.MethodPost, batches, `{"input_file_id":5,"endpoint":"/v1/echo","metadata":{"a":1,"b":"x","c":{}}}`,
			http.StatusBadRequest,
			"input_file_id: Input should be a valid string; metadata.a: Input should be a valid string; " +
				"metadata.c: Input should be a valid string; completion_window: Field required",
			"input_file_id", "invalid_type",
		},
		{
			http.MethodPost, batches,
			`{"input_file_id":"f","endpoint":"/v1/echo","completion_window":"24h","metadata":{"a":1}}`,
			http.StatusBadRequest, "metadata.a: Input should be a valid string", "metadata.a", "invalid_type",
		},
		{http.MethodGet, "/v1/files/model-1", "", http.StatusNotFound, "No such File object: model-1", "id", ""},
		{http.MethodDelete, "/v1/files/model-1", "", http.StatusNotFound, "No such File object: model-1", "id", ""},
		{
			http.MethodGet, "/v1/files/model-1/content", "",
			http.StatusNotFound, "No such File object: model-1", "id", "",
		},
		{http.MethodGet, batches + "/model-1", "", http.StatusNotFound, "No batch found with id 'model-1'.", "id", ""},
		{
			http.MethodGet, batches + "?after=model-1", "",
			http.StatusNotFound, "There is nothing with the id model-1 in this list.", "after", "",
		},
		{
			http.MethodPost, batches, `{"input_file_id":"model-1","endpoint":"/v1/echo","completion_window":"24h"}`,
			http.StatusNotFound, "No such File object: model-1", "input_file_id", "",
		},
		{
			http.MethodGet, "/v1/models/model-1", "",
			http.StatusNotFound, "The model `model-1` does not exist.", "model", "model_not_found",
		},
		{http.MethodGet, "/v1/model", "", http.StatusNotFound, "Not Found", "", "unknown_url"},
		{http.MethodPut, batches, "", http.StatusMethodNotAllowed, "Method Not Allowed", "", "unknown_url"},
	} {
		result := api.Call(t.Context(), gateway.Call{Method: test.method, Path: test.path, Body: []byte(test.body)})
		status, answer := result.Status, result.Body
		var refusal dialect.OpenAIError
		if err := json.Unmarshal(answer, &refusal); err != nil {
			t.Fatalf("%s %s: %s", test.method, test.path, answer)
		}
		got := refusal.Error
		if status != test.status || got.Message != test.message || text(got.Param) != test.param ||
			text(got.Code) != test.code {
			t.Errorf("%s %s %s: %d %s", test.method, test.path, test.body, status, answer)
		}
	}
}

func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
