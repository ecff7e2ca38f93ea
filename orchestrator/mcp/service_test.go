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

// TestOneCallARequest wants batches and subscriptions refused, and single calls passed on whole.
func TestOneCallARequest(t *testing.T) {
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

// TestOmittedMembersAreRefused wants no call of an endpoint for a member that the tool's schema lacks.
func TestOmittedMembersAreRefused(t *testing.T) {
	asked := 0
	s := &Service{ask: func(context.Context, string, string, string, []byte) (int, []byte) {
		asked++
		return http.StatusOK, []byte(`{}`)
	}}
	answer := s.forward(t.Context(), "latent", "/generate", []byte(`{"smi":"C","stream":true}`), []string{"stream"})
	if !answer.IsError || asked != 0 {
		t.Errorf("%v, and %d requests", answer.Content, asked)
	}
	if answer := s.forward(t.Context(), "latent", "/generate", []byte(`{"smi":"C"}`),
		[]string{"stream"}); answer.IsError || asked != 1 {
		t.Errorf("%v, and %d requests", answer.Content, asked)
	}
}

// TestDrawingsAreReadByAModelThatTakesImages wants read_drawing to ask the first such model, or the one that is named.
func TestDrawingsAreReadByAModelThatTakesImages(t *testing.T) {
	var asked struct{ Model string }
	var models []string
	s := &Service{
		imageModels: func() []string { return models },
		ask: func(_ context.Context, _, _, _ string, body []byte) (int, []byte) {
			if err := json.Unmarshal(body, &asked); err != nil {
				t.Error(err)
			}
			return http.StatusOK, []byte(`{"choices":[{"message":{"content":"C"}}]}`)
		},
	}
	if answer := s.read(t.Context(), Drawing{Image: "iVBORw0KGgo="}); !answer.IsError || asked.Model != "" {
		t.Errorf("without such a model %v, asked of %q", answer.Content, asked.Model)
	}
	models = []string{"lab/reader", "lab/viewer"}
	for named, want := range map[string]string{"": "lab/reader", "lab/viewer": "lab/viewer",
		"lab/writer": "lab/writer"} {
		if answer := s.read(t.Context(), Drawing{Image: "iVBORw0KGgo=", Model: named}); answer.IsError ||
			asked.Model != want {
			t.Errorf("%q: %v, asked of %q", named, answer.Content, asked.Model)
		}
	}
}

// TestAPanicIsARefusal wants a tool that panics to end its own call alone.
func TestAPanicIsARefusal(t *testing.T) {
	var log strings.Builder
	s := &Service{logger: zerolog.New(&log)}
	broken := offered{tool: &mcp.Tool{Name: "broken"},
		answer: func(context.Context, json.RawMessage) *mcp.CallToolResult { panic("the tool broke") }}
	if answer := s.answer(t.Context(), broken, nil); answer == nil || !answer.IsError {
		t.Errorf("answered %v", answer)
	}
	if !strings.Contains(log.String(), "the tool broke") {
		t.Errorf("logged %q", log.String())
	}
}
