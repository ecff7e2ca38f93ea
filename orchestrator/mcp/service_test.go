package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

// TestRejectBatches sends batches and subscriptions, which are refused, and a single call, which is passed on.
func TestRejectBatches(t *testing.T) {
	for body, status := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:           http.StatusOK,
		` [{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`:        http.StatusBadRequest,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`: http.StatusBadRequest,
	} {
		passed := ""
		next := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			text := make([]byte, len(body)+1)
			n, _ := r.Body.Read(text)
			passed = string(text[:n])
		})
		answer := httptest.NewRecorder()
		rejectBatches(next).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(body)))
		if answer.Code != status || (passed == body) != (status == http.StatusOK) {
			t.Errorf("%s: %d, and %q was passed on", body, answer.Code, passed)
		}
	}
}

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
