package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

// CallAPI sends a request to an API through its gateway and returns the status and body of the answer. The request ends
// with ctx.
type CallAPI func(ctx context.Context, api, method, path string, body []byte) (status int, answer []byte)

// Options are what the service needs of the program.
type Options struct {
	CallAPI   CallAPI
	FollowAPI FollowAPI
	// ImageModels returns the public ids of the chat models that accept images now.
	ImageModels func() []string
	Tasks       Tasks  // nil: no searches as tasks
	Version     string // of the program
	// Origins are the origins of web pages whose scripts may call the tools, comma-separated, or "*" for all. Pages of
	// this machine always may.
	Origins string
	Logger  zerolog.Logger
}

// Service serves the APIs as tools.
type Service struct {
	callAPI     CallAPI
	followAPI   FollowAPI
	imageModels func() []string
	tasks       Tasks
	version     string
	logger      zerolog.Logger
	tools       []tool
	http        http.Handler
}

// tool is a tool with the function that answers its calls.
type tool struct {
	definition *mcp.Tool
	answer     func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult
	search     *search // nil if it is none
}

// search is what a tool needs to report its progress.
type search struct {
	forwardedTool
	iterations float64 // the default of the member, or 0
}

// New reads the descriptions of the APIs through CallAPI and returns the service.
func New(ctx context.Context, opts Options) (*Service, error) {
	s := &Service{
		callAPI: opts.CallAPI, followAPI: opts.FollowAPI, imageModels: opts.ImageModels, tasks: opts.Tasks,
		version: opts.Version, logger: opts.Logger,
	}
	descriptions := map[string]*apiDescription{} // by API
	for _, t := range forwardedTools {
		if descriptions[t.api] == nil {
			descriptions[t.api] = &apiDescription{}
			if err := descriptions[t.api].read(ctx, s.callAPI, t.api); err != nil {
				return nil, err
			}
		}
		schema, err := descriptions[t.api].arguments(t.path, t.omit)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", t.name, err)
		}
		added := s.addTool(t.name, t.title, t.description, schema,
			func(ctx context.Context, arguments json.RawMessage) *mcp.CallToolResult {
				return s.forward(ctx, t.api, t.path, arguments, t.omit)
			})
		if t.isSearch {
			added.search = &search{forwardedTool: t, iterations: defaultOf(schema, "iterations")}
		}
	}
	s.addTypedTools()
	s.http = newHandler(s.server, opts.Origins)
	return s, nil
}

func (s *Service) addTool(
	name, title, text string, schema any, answer func(context.Context, json.RawMessage) *mcp.CallToolResult,
) *tool {
	s.tools = append(s.tools, tool{answer: answer, definition: &mcp.Tool{
		Name: name, Title: title, Description: text, InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{Title: title, ReadOnlyHint: true},
	}})
	return &s.tools[len(s.tools)-1]
}

// search returns the search that a tool is, or nil.
func (s *Service) search(name string) *search {
	for _, t := range s.tools {
		if t.definition.Name == name {
			return t.search
		}
	}
	return nil
}

// listLifetime is how long a client may reuse the list of tools, which changes with the program only.
const listLifetime = 5 * time.Minute

// server returns a server for one request. Calls of its tools end with the context of the request, which the library
// does not pass to them in older versions of the protocol.
func (s *Service) server(r *http.Request) *mcp.Server {
	capabilities := &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}
	if s.tasks != nil {
		capabilities.AddExtension(tasksExtension, nil)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "retort", Title: "Retort", Version: s.version}, &mcp.ServerOptions{
		Capabilities: capabilities,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
			c.TTLMs = int(listLifetime.Milliseconds())
			c.CacheScope = "private" // where keys are required, also for the list
		},
	})
	for _, t := range s.tools {
		server.AddTool(t.definition, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			called := t
			if token := call.Params.GetProgressToken(); token != nil && t.search != nil {
				called.answer = func(request context.Context, arguments json.RawMessage) *mcp.CallToolResult {
					return s.followSearch(request, ctx, call.Session, t.search, arguments, token)
				}
			}
			return s.answer(r.Context(), called, call.Params.Arguments), nil
		})
	}
	server.AddReceivingMiddleware(rejectUndeclared)
	if s.tasks != nil {
		if err := s.addTaskMethods(r.Context(), server); err != nil {
			panic(err) // the methods are not those of the protocol
		}
	}
	return server
}

// rejectUndeclared rejects methods of capabilities that the server does not have, as the protocol demands. For clients
// of older versions, which may call them unasked, the library answers with empty lists.
func rejectUndeclared(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		kind, _, _ := strings.Cut(method, "/")
		session, ok := req.GetSession().(*mcp.ServerSession)
		if ok && slices.Contains([]string{"prompts", "resources", "completion"}, kind) && isStateless(session) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + ": the server has no " + kind}
		}
		return next(ctx, method, req)
	}
}

// isStateless reports whether a request has a version of the protocol without sessions.
func isStateless(session *mcp.ServerSession) bool {
	client := session.InitializeParams()
	return client != nil && client.ProtocolVersion >= firstStateless
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

// forward sends arguments to an endpoint and returns its answer. It refuses the members in omit.
func (s *Service) forward(
	ctx context.Context, api, path string, arguments []byte, omit []string,
) *mcp.CallToolResult {
	arguments, refused := checkArguments(arguments, omit)
	if refused != nil {
		return refused
	}
	answer, refused := s.post(ctx, api, path, arguments)
	if refused != nil {
		return refused
	}
	return result(answer)
}

// checkArguments returns the arguments of a forwarded tool, which must be an object without the members in omit.
func checkArguments(arguments []byte, omit []string) (checked []byte, refused *mcp.CallToolResult) {
	if len(arguments) == 0 {
		arguments = []byte("{}")
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return nil, refusal("the arguments are not an object: %v", err)
	}
	for _, name := range omit {
		if _, ok := members[name]; ok {
			return nil, refusal("%s: this tool does not accept it", name)
		}
	}
	return arguments, nil
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
