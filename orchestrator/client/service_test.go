package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"retort/orchestrator/client"
)

// answering starts a service. handler writes its n-th answer, from 1.
func answering(t *testing.T, handler func(n int, w http.ResponseWriter)) *client.Service {
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		handler(n, w)
	}))
	t.Cleanup(server.Close)
	return &client.Service{URL: server.URL, HTTP: server.Client(), Attempts: 3}
}

func TestFailureMessages(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail": [{"loc": ["body", "smi", 3], "msg": "no molecule", "type": "x"}]}`: "smi.3: no molecule (422)",
		`{"detail": "Not found"}`:                                                                 "Not found (422)",
		`{"status": "failed", "error": "smiles: no\nmolecule"}`:                                   "smiles: no molecule (422)",
		`{"error": {"message": "no such model", "detail": {}}}`:                                   "no such model (422)",
		`{"object": "error", "message": "invalid", "detail": {"loc": ["input"], "msg": "empty"}}`: "input: empty (422)",
		`<html>`: "<html> (422)",
		``:       "422 Unprocessable Entity",
	} {
		s := answering(t, func(_ int, w http.ResponseWriter) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, body)
		})
		err := s.Post(t.Context(), "/x", nil, nil)
		var refusal *client.Refusal
		if !errors.As(err, &refusal) || err.Error() != want || !refusal.IsDataError() {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	requests := 0
	s := answering(t, func(n int, w http.ResponseWriter) {
		requests = n
		if n < 3 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, `{"detail": "full"}`)
			return
		}
		fmt.Fprint(w, `{"x": 5}`)
	})
	var pauses []time.Duration
	s.OnRetry = func(reason error, pause time.Duration) {
		if !strings.Contains(reason.Error(), "full") {
			t.Errorf("reason: %v", reason)
		}
		pauses = append(pauses, pause)
	}
	var answer struct{ X int }
	if err := s.Post(t.Context(), "/x", nil, &answer); err != nil || answer.X != 5 || requests != 3 {
		t.Errorf("%v %+v after %d requests", err, answer, requests)
	}
	if len(pauses) != 2 || pauses[0] != time.Second {
		t.Errorf("pauses %v", pauses)
	}
}

func TestAttemptsAreBounded(t *testing.T) {
	requests := 0
	s := answering(t, func(n int, w http.ResponseWriter) {
		requests = n
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"detail": "full"}`)
	})
	var unreachable *client.UnreachableError
	if err := s.Get(t.Context(), "/x", nil); !errors.As(err, &unreachable) || requests != 3 ||
		!strings.Contains(err.Error(), "full (503)") {
		t.Errorf("%v after %d requests", err, requests)
	}
}

func TestFailedStream(t *testing.T) {
	s := answering(t, func(_ int, w http.ResponseWriter) {
		fmt.Fprint(w, "data: {\"a\": 1}\n\n: pulse\n\ndata: {\"error\": null, \"a\": 2}\n\ndata: {\"detail\": \"the model failed\"}\n\ndata: {\"a\": 3}\n\n")
	})
	events := 0
	err := s.Stream(t.Context(), "/x", nil, func([]byte) error { events++; return nil })
	if err == nil || !strings.Contains(err.Error(), "the model failed") || events != 2 {
		t.Errorf("%v after %d events", err, events)
	}
}
