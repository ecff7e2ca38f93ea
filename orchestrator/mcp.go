package main

import (
	"context"
	"net/http"
	"time"

	"retort/orchestrator/chat"
	"retort/orchestrator/gateway"
	"retort/orchestrator/mcp"
)

// Bounds of the Model Context Protocol's endpoint. A call waits in the API that answers it too.
const (
	mcpConcurrency = 64
	mcpQueue       = 1024
	mcpBodyLimit   = 32 << 20 // a drawing
)

// openMCP offers the APIs as tools, unless that is switched off.
func (a *application) openMCP() error {
	if !a.config.MCP {
		return nil
	}
	service, err := mcp.New(a.life, version, a.ask, a.imageModels, a.logger)
	if err != nil {
		return err
	}
	limits := gateway.Config{Concurrency: mcpConcurrency, Queue: mcpQueue, BodyLimit: mcpBodyLimit}
	for _, s := range services { // as long as the slowest API may take, and its refusal to come back
		limits.Timeout = max(limits.Timeout, s.limits(a.config).Timeout+time.Second)
	}
	options := a.options(limits)
	options.Interactive = nil // the API that a tool asks tells
	a.mcp, err = gateway.New(a.life, service, a.draining.Load, options)
	return err
}

// ask has an API answer a request of this program.
func (a *application) ask(ctx context.Context, api, method, path string, body []byte) (status int, answer []byte) {
	g, ok := a.gateway(api)
	if !ok {
		return http.StatusNotFound, nil
	}
	return g.Ask(ctx, method, path, body)
}

// imageModels lists the public ids of the chat models that take images.
func (a *application) imageModels() []string {
	g, _ := a.gateway("chat")
	return g.API().(*chat.Service).ImageModels()
}
