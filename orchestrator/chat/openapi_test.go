package chat_test

import (
	"encoding/json"
	"reflect"
	"regexp"
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/anthropic"
	"retort/orchestrator/chat/openai"
	"retort/orchestrator/chat/stack"
	"retort/orchestrator/chat/vision"
	"slices"
	"strings"
	"testing"
)

// TestOpenAPI compares the description with the routes and with the members of the requests.
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
			if strings.HasPrefix(path, storedResponses) {
				continue // needs a store: see scripts/tests/test_open_responses.py
			}
			if method == "post" {
				if status, text := s.post(path, "{}"); status != 400 {
					t.Errorf("%s: %d %s", path, status, text)
				}
			} else if status, text := s.get(strings.ReplaceAll(path, "{id}", "test/scripted-vllm")); status != 200 {
				t.Errorf("%s: %d %s", path, status, text)
			}
		}
	}
	if len(ids) != 26 {
		t.Errorf("%d operations", len(ids))
	}
	undescribed := strings.Fields("best_of functions function_call guided_json guided_regex guided_choice guided_grammar " +
		"structured_outputs nvext logit_bias prompt_logprobs echo modalities mcp_servers container chat_template " +
		"chat_template_kwargs media_io_kwargs mm_processor_kwargs conversation prompt") // most models refuse them
	for name, request := range map[string]reflect.Type{
		"ChatCompletionRequest": reflect.TypeFor[openai.ChatRequest](),
		"ResponseRequest":       reflect.TypeFor[openai.ResponseRequest](),
		"StackRequest":          reflect.TypeFor[stack.Request](),
		"MessagesRequest":       reflect.TypeFor[anthropic.Request](),
		"CountRequest":          reflect.TypeFor[anthropic.Input](),
		"TokenizeRequest":       reflect.TypeFor[openai.TokenizeRequest](),
	} {
		described := description.Components.Schemas[name].Properties
		for _, member := range reflect.VisibleFields(request) {
			if member.Anonymous {
				continue
			}
			field := member.Tag.Get("json")
			if _, ok := described[field]; !ok && !slices.Contains(undescribed, field) {
				t.Errorf("%s.%s is not described", name, field)
			}
			delete(described, field)
		}
		for field := range described {
			t.Errorf("%s.%s is described but not accepted", name, field)
		}
	}
}

// TestExamples checks the examples of the description: requests are answered, their images can be loaded, and answers
// have the members that the service writes.
func TestExamples(t *testing.T) {
	s := serveWith(t, withTokenizer+`parameters { key: "tools" value { string_value: "true" } }`)
	_, text := s.get("/openapi.json")
	var description struct {
		Paths map[string]map[string]struct {
			RequestBody struct{ Content map[string]media }
			Responses   map[string]struct{ Content map[string]media }
		}
	}
	if err := json.Unmarshal([]byte(text), &description); err != nil {
		t.Fatal(err)
	}
	images := vision.NewLoader(defaults(t).Image, nil)
	for path, methods := range description.Paths {
		if gatewayPaths.MatchString(path) {
			continue
		}
		for method, operation := range methods {
			content := operation.Responses["200"].Content
			answers := append(content["application/json"].examples(), content["application/jsonl"].examples()...)
			requests := operation.RequestBody.Content["application/json"].examples()
			isStored := strings.HasPrefix(path, storedResponses)
			if len(answers) == 0 || method == "post" && len(requests) == 0 && !isStored {
				t.Errorf("%s %s lacks an example of its request or answer", method, path)
			}
			for _, request := range requests {
				for _, source := range regexp.MustCompile(`data:image/[^"]+`).FindAllString(string(request), -1) {
					set, err := images.Load(t.Context(), []vision.Source{{URL: source}})
					if err != nil || set.All()[0].Width < 200 {
						t.Errorf("%s: image of the example: %v", path, err)
					}
				}
				body := strings.ReplaceAll(string(request), "retort/molecule-reader-v8", vllmModel)
				if status, text := s.post(path, body); status != 200 {
					t.Errorf("%s: got %d %s for the example", path, status, text)
				}
			}
			for _, answer := range answers {
				var into any = &chat.Models{}
				switch {
				case strings.Contains(path, "health"):
					into = &struct { // with the members that the gateway adds
						chat.Health
						Ready bool `json:"ready"`
						Live  bool `json:"live"`
					}{}
				case path == completions:
					into = &openai.Completion{}
				case path == "/v1/completions":
					into = &openai.TextCompletion{}
				case method == "delete":
					into = &openai.DeletedResponse{}
				case strings.HasSuffix(path, "/input_items"):
					into = &openai.ItemList{}
				case path == "/v1/responses" || isStored:
					into = &openai.Response{}
				case path == "/v1/messages":
					into = &anthropic.Message{}
				case path == "/v1/messages/count_tokens":
					into = &anthropic.Count{}
				case path == openai.TokenizePath:
					into = &openai.Tokenized{}
				case path == openai.DetokenizePath:
					into = &openai.Detokenized{}
				case path == "/models/list":
					into = &stack.ModelDefinition{}
				case method == "post":
					into = &stack.Response{}
				}
				decoder := json.NewDecoder(strings.NewReader(string(answer)))
				decoder.DisallowUnknownFields()
				if err := decoder.Decode(into); err != nil {
					t.Errorf("%s: example of an answer: %v", path, err)
				}
			}
		}
	}
}

// storedResponses begins the paths of stored responses.
const storedResponses = "/v1/responses/"

// gatewayPaths matches the paths of package gateway.
var gatewayPaths = regexp.MustCompile(`^/v1/(models/|metadata|version|license|manifest|metrics)|^/metrics`)

// media is a media type with its examples.
type media struct {
	Example  json.RawMessage
	Examples map[string]struct{ Value json.RawMessage }
}

func (m media) examples() (all []json.RawMessage) {
	if m.Example != nil {
		all = append(all, m.Example)
	}
	for _, example := range m.Examples {
		all = append(all, example.Value)
	}
	return all
}
