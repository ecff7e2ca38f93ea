package mcp

import (
	"github.com/gofiber/fiber/v2"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

// Path is where the protocol is spoken on the main port.
const Path = "/mcp"

// Name is the name in logs and metrics.
func (s *Service) Name() string { return "mcp" }

// Routes adds the endpoint. GET, which would open a stream of the server's own messages, is answered with 405 by the
// library: there are none.
func (s *Service) Routes(r fiber.Router) { r.All(Path, gateway.Standard(s.http)) }

// Failure is a failure before the protocol: JSON-RPC's error.
type Failure struct {
	Version string  `json:"jsonrpc"` // "2.0"
	ID      *string `json:"id"`      // null: the request was not read
	Error   Problem `json:"error"`
}

// Problem is what is wrong.
type Problem struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// The codes of JSON-RPC.
const (
	invalidRequest = -32600
	internalError  = -32603
)

// RenderFault words a failure as JSON-RPC does.
func (s *Service) RenderFault(f *fault.Error) (status int, body any) {
	status = gateway.StatusOf(f.Kind)
	answer := Failure{Version: "2.0", Error: Problem{Code: invalidRequest, Message: f.Summary()}}
	if status >= fiber.StatusInternalServerError {
		answer.Error.Code = internalError
	}
	return status, answer
}

// Health, Ready, Models and OpenAPI are what a gateway asks of an API. The protocol describes its tools itself.
func (s *Service) Health() (ready, live any) { return struct{}{}, struct{}{} }

// Ready returns nil: each tool says whether its API can serve.
func (s *Service) Ready() error { return nil }

// Models is empty: they belong to the APIs.
func (s *Service) Models() []string { return nil }

// OpenAPI is a description without endpoints.
func (s *Service) OpenAPI() []byte {
	return []byte("openapi: 3.1.0\ninfo: { title: Model Context Protocol }\ncomponents: {}\n")
}
