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

// Ask has an API answer a request: its status and body. It ends with ctx.
type Ask func(ctx context.Context, api, method, path string, body []byte) (status int, answer []byte)

// Service offers the APIs as tools.
type Service struct {
	ask         Ask
	imageModels func() []string
	version     string
	life        context.Context
	logger      zerolog.Logger
	listed      []offered
	http        http.Handler
}

// offered is a tool with its schema, and what answers it.
type offered struct {
	tool   *mcp.Tool
	answer func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult
}

// New returns the service over APIs that ask reaches; imageModels lists the public ids of the chat models that are
// served now and take images. version is the program's. The APIs' descriptions are read until life ends.
func New(life context.Context, version string, ask Ask, imageModels func() []string, logger zerolog.Logger) (*Service, error) {
	s := &Service{ask: ask, imageModels: imageModels, version: version, life: life, logger: logger}
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
			return s.forward(ctx, t.api, t.path, arguments, t.omit)
		})
	}
	s.offerOwn()
	// No session is kept, so any replica may answer any request; each gets its answer in one piece.
	// The gateway has bounded the body already.
	options := &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true, MaxRequestBodyBytes: -1}
	s.http = single(mcp.NewStreamableHTTPHandler(s.server, options))
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
			return s.answer(r.Context(), o, call.Params.Arguments), nil
		})
	}
	return server
}

// answer is what a tool answers. The library runs it in a goroutine of its own, where a panic would end the process.
func (s *Service) answer(ctx context.Context, o offered, arguments json.RawMessage) (answer *mcp.CallToolResult) {
	defer func() {
		if p := recover(); p != nil {
			answer = refusal("internal error")
			s.logger.Error().Str("tool", o.tool.Name).Bytes("stack", debug.Stack()).Msgf("panic: %v", p)
		}
	}()
	return o.answer(ctx, arguments)
}

// single lets one call at a time through. A batch of the protocol's older versions would run all of its calls at once
// in the place of one request, and a subscription would hold that place for nothing: no tool changes.
func single(next http.Handler) http.Handler {
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

// forward asks an endpoint and returns what it answers. It refuses the members in omit, which the schema lacks.
func (s *Service) forward(ctx context.Context, api, path string, body []byte, omit []string) *mcp.CallToolResult {
	if len(body) == 0 {
		body = []byte("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(body, &given); err != nil {
		return refusal("the arguments are no object: %v", err)
	}
	for _, name := range omit {
		if _, ok := given[name]; ok {
			return refusal("%s: a tool does not take it", name)
		}
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
