package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"retort/orchestrator/triton/tritontest"
)

// A panic in one of the main port's own routes is answered, logged and counted like one in any other route.
func TestPanicOfALocalRoute(t *testing.T) {
	var out console
	a := assemble(t, tritontest.Start(t, entry(t, "minilm_embed")), &out)
	awaitModels(t, a, "embedding", 1)
	main := a.listeners[0]
	served := make(chan error, 1)
	go func() { served <- main.server.Serve(main.Listener) }()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := main.server.Shutdown(a.config.DrainTimeout); err != nil {
			t.Error(err)
		}
		<-served
	})
	url := "http://" + main.Addr().String()
	get := func(path string) (status int, text string, id string) {
		t.Helper()
		response, err := http.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body), response.Header.Get("X-Request-Id")
	}
	gateways := a.gateways
	a.gateways = nil // which these routes use
	ids := map[string]string{}
	for _, path := range []string{"/v1/models", "/models", "/v1/models/lab/model", "/apis"} {
		status, text, id := get(path)
		if status != http.StatusInternalServerError || !strings.Contains(text, "Internal server error") ||
			strings.Contains(text, "range") {
			t.Errorf("%s: %d %s", path, status, text)
		}
		ids[path] = id
	}
	a.gateways = gateways
	for path, id := range ids {
		line := `"request":"` + id + `"`
		if id == "" || !strings.Contains(out.String(), line) ||
			!strings.Contains(out.String(), `"path":"`+path+`","status":500`) {
			t.Errorf("%s: its request %q is not in the log: %s", path, id, out.String())
		}
	}
	if count := strings.Count(out.String(), `"message":"panic: `); count != len(ids) {
		t.Errorf("%d panics are logged, want %d", count, len(ids))
	}
	status, metrics, _ := get("/metrics")
	for _, want := range []string{
		`retort_http_requests_total{api="main",method="GET",route="/v1/models",status="500"} 1`,
		`retort_http_requests_total{api="main",method="GET",route="/v1/models/*",status="500"} 1`,
		`retort_http_requests_total{api="main",method="GET",route="/apis",status="500"} 1`,
		`retort_http_in_flight{api="main"} 1`, // this one
	} {
		if status != http.StatusOK || !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	if status, text, _ := get("/v1/models"); status != http.StatusOK || !strings.Contains(text, `"id"`) {
		t.Errorf("afterwards: %d %s", status, text)
	}
}
