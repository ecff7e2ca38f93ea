package mcp

import (
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

// Path is the path of the endpoint on the main port.
const Path = "/mcp"

// Name is the name in logs and metrics.
func (s *Service) Name() string { return "mcp" }

// Routes adds the endpoint. The library answers GET, which would open a stream of messages from the server, with 405.
func (s *Service) Routes(r fiber.Router) { r.All(Path, gateway.HTTPHandler(s.http)) }

// Failure is the JSON-RPC error of a request that did not reach the library.
type Failure struct {
	Version string  `json:"jsonrpc"` // "2.0"
	ID      *string `json:"id"`      // null: the request was not read
	Error   Problem `json:"error"`
}

// Problem is the error object of JSON-RPC.
type Problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error codes of JSON-RPC.
const (
	invalidRequest = -32600
	internalError  = -32603
)

// RenderFault returns a failure in JSON-RPC's form.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	status = gateway.StatusOf(f.Kind)
	answer := Failure{Version: "2.0", Error: Problem{Code: invalidRequest, Message: f.Summary()}}
	if status >= fiber.StatusInternalServerError {
		answer.Error.Code = internalError
	}
	return status, answer
}

// Health, Ready, Models and OpenAPI implement gateway.API. The protocol itself describes the tools.
func (s *Service) Health() (ready, live any) { return struct{}{}, struct{}{} }

// Ready returns nil: the API of each tool reports whether it is ready.
func (s *Service) Ready() error { return nil }

// Models returns none: models belong to the APIs.
func (s *Service) Models() []string { return nil }

// OpenAPI returns a description without endpoints.
func (s *Service) OpenAPI() []byte {
	return []byte("openapi: 3.1.0\ninfo: { title: Model Context Protocol }\ncomponents: {}\n")
}
