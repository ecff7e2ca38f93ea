package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

// TestOmittedMembersAreRefused sends a member that the schema of the tool lacks: the endpoint is not called.
func TestOmittedMembersAreRefused(t *testing.T) {
	calls := 0
	s := &Service{callAPI: func(context.Context, string, string, string, []byte) (int, []byte) {
		calls++
		return http.StatusOK, []byte(`{}`)
	}}
	answer := s.forward(t.Context(), "latent", "/generate", []byte(`{"smi":"C","stream":true}`), []string{"stream"})
	if !answer.IsError || calls != 0 {
		t.Errorf("%v, and %d requests", answer.Content, calls)
	}
	if answer := s.forward(t.Context(), "latent", "/generate", []byte(`{"smi":"C"}`),
		[]string{"stream"}); answer.IsError || calls != 1 {
		t.Errorf("%v, and %d requests", answer.Content, calls)
	}
}

// TestModelOfDrawings calls read_drawing: the named model answers or, without a name, the first one that takes images.
func TestModelOfDrawings(t *testing.T) {
	var request struct{ Model string }
	var models []string
	s := &Service{
		imageModels: func() []string { return models },
		callAPI: func(_ context.Context, _, _, _ string, body []byte) (int, []byte) {
			if err := json.Unmarshal(body, &request); err != nil {
				t.Error(err)
			}
			return http.StatusOK, []byte(`{"choices":[{"message":{"content":"C"}}]}`)
		},
	}
	if answer := s.readDrawing(t.Context(), drawingArguments{Image: "iVBORw0KGgo="}); !answer.IsError ||
		request.Model != "" {
		t.Errorf("without such a model %v, model %q", answer.Content, request.Model)
	}
	models = []string{"lab/reader", "lab/viewer"}
	for named, want := range map[string]string{"": "lab/reader", "lab/viewer": "lab/viewer",
		"lab/writer": "lab/writer"} {
		if answer := s.readDrawing(t.Context(), drawingArguments{Image: "iVBORw0KGgo=", Model: named}); answer.IsError ||
			request.Model != want {
			t.Errorf("%q: %v, model %q", named, answer.Content, request.Model)
		}
	}
}

// TestPanicIsARefusal calls a tool that panics: only its own call fails.
func TestPanicIsARefusal(t *testing.T) {
	var log strings.Builder
	s := &Service{logger: zerolog.New(&log)}
	broken := tool{definition: &mcp.Tool{Name: "broken"},
		answer: func(context.Context, json.RawMessage) *mcp.CallToolResult { panic("the tool broke") }}
	if answer := s.answer(t.Context(), broken, nil); answer == nil || !answer.IsError {
		t.Errorf("answered %v", answer)
	}
	if !strings.Contains(log.String(), "the tool broke") {
		t.Errorf("logged %q", log.String())
	}
}
