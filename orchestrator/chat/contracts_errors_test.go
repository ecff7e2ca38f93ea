package chat_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/openai"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// engineErrors checks which errors of an engine the client receives.
func engineErrors(t *testing.T, s *testServer) {
	for text, want := range map[string]struct {
		status  int
		message string
	}{
		"the weights melted": {500, "Internal server error"},
		"The decoder prompt (length 900) is longer than the maximum model length of 512.": {400,
			"This model's maximum context length is 512 tokens. However, you requested 900 tokens in the messages."},
		"At most 1 image(s) may be provided in one prompt.": {400, "At most 1 image(s) may be provided in one prompt."},
		"InvalidRequest: two drawings at most":              {400, "two drawings at most"},
	} {
		status, body := s.post(completions, scriptRequest(vllmModel, fmt.Sprintf(`{"fail": %q}`, text), nil))
		if status != want.status || !strings.Contains(body, want.message) {
			t.Errorf("%s: %d %s", text, status, body)
		}
		stream := scriptRequest(vllmModel, fmt.Sprintf(`{"fail": %q}`, text), object{"stream": true})
		status, body = s.post(completions, stream)
		if status != want.status || !strings.Contains(body, want.message) {
			t.Errorf("%s, streamed: %d %s", text, status, body)
		}
	}
	failsLate := `{"say": ["a", "b", "c"], "fail": "melted", "fail_at": 1}`
	got := s.events(completions, scriptRequest(vllmModel, failsLate, object{"stream": true}))
	last := len(got) - 1
	if last < 2 || got[last] != "[DONE]" {
		t.Fatalf("%q", got)
	}
	var failed chat.Error
	err := json.Unmarshal([]byte(got[last-1]), &failed)
	if err != nil || failed.Code != 500 || failed.Error.Message != "Internal server error" {
		t.Errorf("the event before [DONE] is %s, %v", got[last-1], err)
	}
	got = s.events("/inference/chat_completion", scriptRequest(vllmModel, failsLate, object{"stream": true}))
	if diff := cmp.Diff(`{"error":{"message":"Internal server error"}}`, got[len(got)-1]); diff != "" {
		t.Error(diff)
	}
	_, stream := s.post("/v1/responses", object{"model": vllmModel, "input": "script " + failsLate, "stream": true})
	lastOfResponse := "event: response.failed\ndata: {\"response\":{"
	if !strings.Contains(stream, lastOfResponse) || !strings.HasSuffix(stream, "data: [DONE]\n\n") {
		t.Errorf("a response that fails: %s", stream)
	}
}

// clientDisconnects checks that the engine's request is canceled when the client disconnects.
func clientDisconnects(t *testing.T, s *testServer) {
	for _, stream := range []bool{true, false} {
		started := s.counter("started")
		canceled := s.counter("canceled")
		slow := `{"say": ["` + strings.Repeat(`a", "`, 300) + `z"], "delay_ms": 200}`
		ctx, disconnect := context.WithCancel(t.Context())
		body := jsonBody(t, scriptRequest(vllmModel, slow, object{"stream": stream}))
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+completions, body)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		done := make(chan struct{})
		go func() {
			defer close(done)
			if res, err := http.DefaultClient.Do(request); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}()
		s.waitFor("the engine has started", func() bool { return s.counter("started") > started })
		disconnect()
		<-done
		s.waitFor("the engine's request is canceled", func() bool { return s.counter("canceled") > canceled })
	}
}

// counter returns a counter of the vLLM model: started or canceled.
func (s *testServer) counter(name string) int {
	s.t.Helper()
	res := postOK[openai.Completion](s, completions, scriptRequest(vllmModel, `{"`+name+`": true}`, nil))
	n, err := strconv.Atoi(*res.Choices[0].Message.Content)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// waitFor waits up to 30 s for a condition.
func (s *testServer) waitFor(condition string, isMet func() bool) {
	s.t.Helper()
	for until := time.Now().Add(30 * time.Second); !isMet(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			s.t.Fatalf("not within 30 s: %s", condition)
		}
	}
}
