package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Ask has an API answer a request: its status and body. It ends with ctx.
type Ask func(ctx context.Context, api, method, path string, body []byte) (status int, answer []byte)

// Service offers the APIs as tools.
type Service struct {
	ask     Ask
	models  func(api string) []string
	version string
	life    context.Context
	listed  []offered
	http    http.Handler
}

// offered is a tool with its schema, and what answers it.
type offered struct {
	tool   *mcp.Tool
	answer func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult
}

// New returns the service over APIs that ask reaches; models lists the public ids of the models that one serves now.
// version is the program's. The APIs' descriptions are read until life ends.
func New(life context.Context, version string, ask Ask, models func(api string) []string) (*Service, error) {
	s := &Service{ask: ask, models: models, version: version, life: life}
	described := map[string]*description{}
	for _, t := range tools {
		if described[t.api] == nil {
			described[t.api] = &description{}
			if err := described[t.api].read(s, t.api); err != nil {
				return nil, err
			}
		}
		schema, err := described[t.api].arguments(t.path, t.omit)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		s.offer(t.name, t.title, t.description, schema, func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult {
			return s.forward(ctx, t.api, t.path, arguments)
		})
	}
	s.offerOwn()
	// No session is kept, so any replica may answer any request; each gets its answer in one piece.
	s.http = mcp.NewStreamableHTTPHandler(s.server, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return s, nil
}

func (s *Service) offer(name, title, text string, schema any, answer func(context.Context, json.RawMessage) *mcp.CallToolResult) {
	s.listed = append(s.listed, offered{answer: answer, tool: &mcp.Tool{
		Name: name, Title: title, Description: text, InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true},
	}})
}

// server answers one request: its tools end with the request's context, which the library does not give them itself.
func (s *Service) server(r *http.Request) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "retort", Title: "Retort", Version: s.version}, nil)
	for _, o := range s.listed {
		server.AddTool(o.tool, func(_ context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return o.answer(r.Context(), call.Params.Arguments), nil
		})
	}
	return server
}

// forward asks an endpoint and returns what it answers.
func (s *Service) forward(ctx context.Context, api, path string, body []byte) *mcp.CallToolResult {
	if len(body) == 0 {
		body = []byte("{}")
	}
	status, answer := s.ask(ctx, api, http.MethodPost, path, body)
	if status != http.StatusOK {
		return refusal("%s", strings.TrimSpace(string(answer)))
	}
	return result(answer)
}

// result is an answer in JSON, as text and, since that must be an object, as one.
func result(answer []byte) *mcp.CallToolResult {
	structured := json.RawMessage(answer)
	if !strings.HasPrefix(strings.TrimSpace(string(answer)), "{") {
		structured = json.RawMessage(`{"result":` + string(answer) + `}`)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(answer)}}, StructuredContent: structured}
}

// refusal is an error that the model which called the tool can read and mend.
func refusal(format string, args ...any) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf(format, args...)}}}
}
