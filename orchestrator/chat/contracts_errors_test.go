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

func modelErrors(t *testing.T, s *stand) {
	for text, want := range map[string]struct {
		status int
		part   string
	}{
		"the weights melted": {500, "Internal server error"},
		"The decoder prompt (length 900) is longer than the maximum model length of 512.": {400,
			"This model's maximum context length is 512 tokens. However, you requested 900 tokens in the messages."},
		"At most 1 image(s) may be provided in one prompt.": {400, "At most 1 image(s) may be provided in one prompt."},
		"InvalidRequest: two drawings at most":              {400, "two drawings at most"},
	} {
		status, body := s.post("/v1/chat/completions", told(vllmModel, fmt.Sprintf(`{"fail": %q}`, text), nil))
		if status != want.status || !strings.Contains(body, want.part) {
			t.Errorf("%s: %d %s", text, status, body)
		}
		status, body = s.post("/v1/chat/completions", told(vllmModel, fmt.Sprintf(`{"fail": %q}`, text), object{"stream": true}))
		if status != want.status || !strings.Contains(body, want.part) {
			t.Errorf("%s, streamed: %d %s", text, status, body)
		}
	}
	late := `{"say": ["a", "b", "c"], "fail": "melted", "fail_at": 1}`
	got := s.events("/v1/chat/completions", told(vllmModel, late, object{"stream": true}))
	last := len(got) - 1
	if last < 2 || got[last] != "[DONE]" {
		t.Fatalf("%q", got)
	}
	var failed chat.Error
	if err := json.Unmarshal([]byte(got[last-1]), &failed); err != nil || failed.Error.Object != "error" || failed.Error.Message != "Internal server error" || failed.Code != 500 {
		t.Errorf("%v %s", err, got[last-1])
	}
	got = s.events("/inference/chat_completion", told(vllmModel, late, object{"stream": true}))
	if diff := cmp.Diff(`{"error":{"message":"Internal server error"}}`, got[len(got)-1]); diff != "" {
		t.Error(diff)
	}
}

// departed holds that the model stops when the client has left.
func departed(t *testing.T, s *stand) {
	for _, stream := range []bool{true, false} {
		begun, canceled := s.count("begun"), s.count("canceled")
		slow := `{"say": ["` + strings.Repeat(`a", "`, 300) + `z"], "delay_ms": 200}`
		ctx, leave := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+completions, encoded(t, told(vllmModel, slow, object{"stream": stream})))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		left := make(chan struct{})
		go func() {
			defer close(left)
			if res, err := http.DefaultClient.Do(request); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		}()
		s.await("the model has begun", func() bool { return s.count("begun") > begun })
		leave()
		<-left
		s.await("the model is told that its client has left", func() bool { return s.count("canceled") > canceled })
	}
}

// count asks the vLLM model what it has counted.
func (s *stand) count(what string) int {
	s.t.Helper()
	res := answered[openai.Completion](s, completions, told(vllmModel, `{"`+what+`": true}`, nil))
	n, err := strconv.Atoi(res.Choices[0].Message.Content)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// await waits for a condition, for as long as the slowest machine may need.
func (s *stand) await(what string, holds func() bool) {
	s.t.Helper()
	for until := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(until) {
			s.t.Fatalf("not within 30 s: %s", what)
		}
	}
}

func tooLongPrompt(t *testing.T, s *stand) {
	status, text := s.post("/v1/chat/completions", told(vllmModel, `{"fail": "The decoder prompt (length 900) is longer than the maximum model length of 512."}`, nil))
	if status != 400 || !strings.Contains(text, `"type":"BadRequestError"`) {
		t.Errorf("%d %s", status, text)
	}
}
