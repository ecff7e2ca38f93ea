package chat_test

import (
	"encoding/json"
	"reflect"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/chat/stack"
	"slices"
	"strings"
	"testing"
)

// TestOpenAPI holds the description to the routes and to the fields of the
// requests that are taken.
func TestOpenAPI(t *testing.T) {
	url, repository := fakeTriton(t)
	s := serve(t, url, repository, nil)
	_, text := s.get("/openapi.json")
	var description struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(text), &description); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for path, methods := range description.Paths {
		for method, operation := range methods {
			if operation.OperationID == "" || ids[operation.OperationID] {
				t.Errorf("%s %s has the operation id %q", method, path, operation.OperationID)
			}
			ids[operation.OperationID] = true
			if method == "post" {
				if status, text := s.post(path, "{}"); status != 400 {
					t.Errorf("%s: %d %s", path, status, text)
				}
			} else if status, text := s.get(path); status != 200 {
				t.Errorf("%s: %d %s", path, status, text)
			}
		}
	}
	if len(ids) != 8 {
		t.Errorf("%d operations", len(ids))
	}
	// What is only there to be refused is not advertised.
	refused := strings.Fields("best_of functions function_call guided_json guided_regex guided_choice guided_grammar structured_outputs nvext logit_bias prompt_logprobs echo modalities")
	for name, request := range map[string]reflect.Type{
		"ChatCompletionRequest": reflect.TypeFor[openai.Request](), "StackRequest": reflect.TypeFor[stack.Request](),
	} {
		described := description.Components.Schemas[name].Properties
		for i := range request.NumField() {
			field := request.Field(i).Tag.Get("json")
			if _, ok := described[field]; !ok && !slices.Contains(refused, field) {
				t.Errorf("%s.%s is not described", name, field)
			}
			delete(described, field)
		}
		for field := range described {
			t.Errorf("%s.%s is described and not taken", name, field)
		}
	}
}
