package mcp

import (
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

// Path is the path of the endpoint on the main port.
const Path = "/mcp"

// Name is the name in logs and metrics.
func (s *Service) Name() string { return "mcp" }

// Routes adds the endpoint. The library answers GET with 405: the server sends no messages of its own.
func (s *Service) Routes(r fiber.Router) { r.All(Path, gateway.HTTPHandler(s.http)) }

// failure is the JSON-RPC error of a request that did not reach the library.
type failure struct {
	Version string          `json:"jsonrpc"` // "2.0"
	ID      json.RawMessage `json:"id"`      // null if the request was not read
	Error   problem         `json:"error"`
}

// problem is the error object of JSON-RPC.
type problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Error codes of JSON-RPC.
const (
	invalidRequest = -32600
	methodNotFound = -32601
	internalError  = -32603
)

// RenderFault returns a failure in JSON-RPC's form.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	status = gateway.StatusOf(f.Kind)
	answer := failure{Version: "2.0", Error: problem{Code: invalidRequest, Message: f.Summary()}}
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
