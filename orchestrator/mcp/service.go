package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

// CallAPI sends a request to an API through its gateway and returns the status and body of the answer. The request ends
// with ctx.
type CallAPI func(ctx context.Context, api, method, path string, body []byte) (status int, answer []byte)

// Service serves the APIs as tools.
type Service struct {
	callAPI     CallAPI
	imageModels func() []string
	version     string
	logger      zerolog.Logger
	tools       []tool
	http        http.Handler
}

// tool is a tool with the function that answers its calls.
type tool struct {
	definition *mcp.Tool
	answer     func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult
}

// New reads the descriptions of the APIs through callAPI and returns the service. imageModels returns the public ids of
// the chat models that accept images now. version is the program's.
func New(
	ctx context.Context, version string, callAPI CallAPI, imageModels func() []string, logger zerolog.Logger,
) (*Service, error) {
	s := &Service{callAPI: callAPI, imageModels: imageModels, version: version, logger: logger}
	descriptions := map[string]*apiDescription{} // by API
	for _, t := range forwardedTools {
		if descriptions[t.api] == nil {
			descriptions[t.api] = &apiDescription{}
			if err := descriptions[t.api].read(ctx, callAPI, t.api); err != nil {
				return nil, err
			}
		}
		schema, err := descriptions[t.api].arguments(t.path, t.omit)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		s.addTool(t.name, t.title, t.description, schema,
			func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult {
				return s.forward(ctx, t.api, t.path, arguments, t.omit)
			})
	}
	s.addTypedTools()
	// Without sessions any replica can answer any request. The gateway has already bounded the body.
	options := &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: -1}
	s.http = rejectBatches(mcp.NewStreamableHTTPHandler(s.server, options))
	return s, nil
}

func (s *Service) addTool(
	name, title, text string, schema any, answer func(context.Context, json.RawMessage) *mcp.CallToolResult,
) {
	s.tools = append(s.tools, tool{answer: answer, definition: &mcp.Tool{
		Name: name, Title: title, Description: text, InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true},
	}})
}

// server returns a server for one request. Calls of its tools end with the context of the request, which the library
// does not pass to them.
func (s *Service) server(r *http.Request) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "retort", Title: "Retort", Version: s.version}, nil)
	for _, t := range s.tools {
		server.AddTool(t.definition, func(_ context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.answer(r.Context(), t, call.Params.Arguments), nil
		})
	}
	return server
}

// answer calls a tool and recovers its panics: the library calls tools in a new goroutine, where a panic would end the
// process.
func (s *Service) answer(ctx context.Context, t tool, arguments json.RawMessage) (answer *mcp.CallToolResult) {
	defer func() {
		if p := recover(); p != nil {
			answer = refusal("internal error")
			s.logger.Error().Str("tool", t.definition.Name).Bytes("stack", debug.Stack()).Msgf("panic: %v", p)
		}
	}()
	return t.answer(ctx, arguments)
}

// rejectBatches rejects requests that are not one call. A batch, in older versions of the protocol, would run all of
// its calls at once with the permit of one request; a subscription would hold its permit for nothing, as no tool
// changes.
func rejectBatches(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body) // in memory already
		if err != nil {
			http.Error(w, "the body cannot be read", http.StatusBadRequest)
			return
		}
		var call struct {
			Method string `json:"method"`
		}
		if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
			http.Error(w, "batches are not accepted: send one call per request", http.StatusBadRequest)
			return
		} else if json.Unmarshal(trimmed, &call) == nil && call.Method == "subscriptions/listen" {
			http.Error(w, "there is nothing to subscribe to", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// forward sends arguments to an endpoint and returns its answer. It refuses the members in omit.
func (s *Service) forward(
	ctx context.Context, api, path string, arguments []byte, omit []string,
) *mcp.CallToolResult {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return refusal("the arguments are not an object: %v", err)
	}
	for _, name := range omit {
		if _, ok := members[name]; ok {
			return refusal("%s: this tool does not accept it", name)
		}
	}
	answer, refused := s.post(ctx, api, path, arguments)
	if refused != nil {
		return refused
	}
	return result(answer)
}

// post sends a body to an endpoint. If the API refuses it, the answer becomes a refusal.
func (s *Service) post(
	ctx context.Context, api, path string, body []byte,
) (answer []byte, refused *mcp.CallToolResult) {
	status, answer := s.callAPI(ctx, api, http.MethodPost, path, body)
	if status != http.StatusOK {
		return nil, refusal("%s", strings.TrimSpace(string(answer)))
	}
	return answer, nil
}

// call encodes a body, posts it and decodes the answer.
func (s *Service) call(ctx context.Context, api, path string, body, into any) (refused *mcp.CallToolResult) {
	text, err := json.Marshal(body)
	if err != nil {
		return refusal("%v", err)
	}
	answer, refused := s.post(ctx, api, path, text)
	if refused != nil {
		return refused
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return refusal("%v", err)
	}
	return nil
}

// resultOf returns a value as the result of a tool.
func resultOf(value any) *mcp.CallToolResult {
	text, err := json.Marshal(value)
	if err != nil {
		return refusal("%v", err)
	}
	return result(text)
}

// result returns JSON as the result of a tool: as text, and as the object that structured content must be.
func result(answer []byte) *mcp.CallToolResult {
	structured := json.RawMessage(answer)
	if !strings.HasPrefix(strings.TrimSpace(string(answer)), "{") {
		structured = json.RawMessage(`{"result":` + string(answer) + `}`)
	}
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: string(answer)}}, StructuredContent: structured,
	}
}

// refusal returns an error that the calling model can read, so that it may correct its call.
func refusal(format string, args ...any) *mcp.CallToolResult {
	text := fmt.Sprintf(format, args...)
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
