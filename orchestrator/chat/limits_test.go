package chat_test

import (
	"fmt"
	"io"
	"net/http"
	"retort/orchestrator/chat"
	"retort/orchestrator/gateway"
	"strings"
	"testing"
	"time"
)

// TestLimits checks the limits of time, load and size.
func TestLimits(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, func(_ *chat.Config, limits *gateway.Config) {
		limits.Timeout = 3 * time.Second
		limits.Concurrency = 1
		limits.Queue = 0
		limits.BodyLimit = 100_000
	})
	slow := `{"say": ["` + strings.Repeat(`a", "`, 300) + `z"], "delay_ms": 50}` // 15 s
	got := s.events(completions, scriptRequest(vllmModel, slow, object{"stream": true}))
	if last := len(got) - 1; last < 2 || got[last] != "[DONE]" || !strings.Contains(got[last-1], "GatewayTimeoutError") {
		t.Errorf("stream past the deadline: got %q", got)
	}
	body := jsonBody(t, scriptRequest(vllmModel, slow, object{"stream": true}))
	inFlight, err := http.Post(s.url+completions, "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.url+completions, "application/json", jsonBody(t, piecesRequest(vllmModel, nil, "a")))
	if err != nil {
		t.Fatal(err)
	}
	status, text := read(t, res)
	if status != 503 || res.Header.Get("Retry-After") == "" || !strings.Contains(text, "ServiceUnavailableError") {
		t.Errorf("no permit: got %d %s", status, text)
	}
	_, _ = io.Copy(io.Discard, inFlight.Body)
	inFlight.Body.Close()
	status, text = s.post(completions, fmt.Sprintf(`{"model":"%0200000d"}`, 0))
	if status != 413 || !strings.Contains(text, "RequestEntityTooLargeError") {
		t.Errorf("large body: got %d %s", status, text)
	}
}
