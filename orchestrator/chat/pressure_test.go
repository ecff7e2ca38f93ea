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

// TestPressure holds limits of time, load and size.
func TestPressure(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, func(_ *chat.Config, limits *gateway.Config) {
		limits.Timeout = 3 * time.Second
		limits.Concurrency = 1
		limits.Queue = 0
		limits.BodyLimit = 100_000
	})
	slow := `{"say": ["` + strings.Repeat(`a", "`, 300) + `z"], "delay_ms": 50}` // 15 s
	got := s.events(completions, told(vllmModel, slow, object{"stream": true}))
	if last := len(got) - 1; last < 2 || got[last] != "[DONE]" || !strings.Contains(got[last-1], "GatewayTimeoutError") {
		t.Errorf("a stream beyond its time: %q", got)
	}
	busy, err := http.Post(s.url+completions, "application/json", encoded(t, told(vllmModel, slow, object{"stream": true})))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(s.url+completions, "application/json", encoded(t, said(vllmModel, nil, "a")))
	if err != nil {
		t.Fatal(err)
	}
	if status, text := read(t, res); status != 503 || res.Header.Get("Retry-After") == "" || !strings.Contains(text, "ServiceUnavailableError") {
		t.Errorf("beyond capacity: %d %s", status, text)
	}
	_, _ = io.Copy(io.Discard, busy.Body)
	busy.Body.Close()
	if status, text := s.post(completions, fmt.Sprintf(`{"model":"%0200000d"}`, 0)); status != 413 || !strings.Contains(text, "RequestEntityTooLargeError") {
		t.Errorf("a body too large: %d %s", status, text)
	}
}
