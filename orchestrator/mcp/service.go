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

// Ask sends a request to an API through its gateway and returns the status and body of the answer. It ends with ctx.
type Ask func(ctx context.Context, api, method, path string, body []byte) (status int, answer []byte)

// Service offers the APIs as tools.
type Service struct {
	ask         Ask
	imageModels func() []string
	version     string
	life        context.Context
	logger      zerolog.Logger
	tools       []offered
	http        http.Handler
}

// offered is a tool as the protocol lists it, with the function that answers its calls.
type offered struct {
	tool   *mcp.Tool
	answer func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult
}

// New returns the service for the APIs that ask reaches, after reading their descriptions, which ends with life.
// imageModels returns the public ids of the chat models that accept images now. version is the program's.
func New(
	life context.Context, version string, ask Ask, imageModels func() []string, logger zerolog.Logger,
) (*Service, error) {
	s := &Service{ask: ask, imageModels: imageModels, version: version, life: life, logger: logger}
	descriptions := map[string]*description{} // by API
	for _, t := range tools {
		if descriptions[t.api] == nil {
			descriptions[t.api] = &description{}
			if err := descriptions[t.api].read(s, t.api); err != nil {
				return nil, err
			}
		}
		schema, err := descriptions[t.api].arguments(t.path, t.omit)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		s.offer(t.name, t.title, t.description, schema,
			func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult {
				return s.forward(ctx, t.api, t.path, arguments, t.omit)
			})
	}
	s.offerTypedTools()
	// Without sessions any replica can answer any request. The gateway has already bounded the body.
	options := &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: -1}
	s.http = rejectBatches(mcp.NewStreamableHTTPHandler(s.server, options))
	return s, nil
}

func (s *Service) offer(
	name, title, text string, schema any, answer func(context.Context, json.RawMessage) *mcp.CallToolResult,
) {
	s.tools = append(s.tools, offered{answer: answer, tool: &mcp.Tool{
		Name: name, Title: title, Description: text, InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true},
	}})
}

// server returns the server for one request: calls of its tools end with the request's context, which the library does
// not pass to them.
func (s *Service) server(r *http.Request) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "retort", Title: "Retort", Version: s.version}, nil)
	for _, o := range s.tools {
		server.AddTool(o.tool, func(_ context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.answer(r.Context(), o, call.Params.Arguments), nil
		})
	}
	return server
}

// answer calls a tool. The library does so in a new goroutine, where a panic would end the process.
func (s *Service) answer(
	ctx context.Context, o offered, arguments json.RawMessage,
) (answer *mcp.CallToolResult) {
	defer func() {
		if p := recover(); p != nil {
			answer = refusal("internal error")
			s.logger.Error().Str("tool", o.tool.Name).Bytes("stack", debug.Stack()).Msgf("panic: %v", p)
		}
	}()
	return o.answer(ctx, arguments)
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
			http.Error(w, "batches are not taken: send one call a request", http.StatusBadRequest)
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
		return refusal("the arguments are no object: %v", err)
	}
	for _, name := range omit {
		if _, ok := members[name]; ok {
			return refusal("%s: a tool does not take it", name)
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
	status, answer := s.ask(ctx, api, http.MethodPost, path, body)
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
