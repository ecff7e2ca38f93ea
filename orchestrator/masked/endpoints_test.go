package masked

import (
	"strings"
	"testing"
	"time"
)

func TestEndpoints(t *testing.T) {
	h, bare := start(t, Config{}), start(t, Config{ReadyBody: "true"})
	check := func(what string, status, wantStatus int, text, want string) {
		t.Helper()
		if status != wantStatus || text != want {
			t.Errorf("%s: %d %s, want %d %s", what, status, text, wantStatus, want)
		}
	}
	status, text := h.get("/v1/health/ready")
	check("ready", status, 200, text, `{"message":"ready","object":"health.response","ready":true,"status":"ready"}`)
	status, text = bare.get("/v1/health/ready")
	check("ready, bare", status, 200, text, `true`)
	status, text = h.get("/v1/models")
	check("models", status, 200, text, `{"available_models":["retort/toy-v1"]}`)
	failure := func(message string) string { return `{"status":"failed","error":"` + message + `"}` }
	status, text = h.get("/generate")
	check("wrong method", status, 405, text, failure("Method Not Allowed"))
	status, text = h.get("/nothing")
	check("no route", status, 404, text, failure("Not Found"))
	status, text = h.post(`{"smiles":"` + strings.Repeat("C", 1<<17) + `"}`)
	check("large body", status, 413, text, failure("The request body is larger than the limit of 65536 bytes."))
	if status, text = h.get("/docs"); status != 200 || !strings.Contains(text, "Masked-template molecules") {
		t.Errorf("docs: %d %.200s", status, text)
	}
	h.triton.Unload("toy")
	for range 100 {
		if h.service.Ready() != nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	notReady := failure("Service is not ready: no model of this API is loaded.")
	status, text = h.post(`{}`)
	check("no model", status, 503, text, notReady)
	status, text = h.get("/v1/health/ready")
	check("no model, ready", status, 503, text, notReady)
}
