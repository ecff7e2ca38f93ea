package main

import (
	"time"

	"retort/orchestrator/gateway"
	"retort/orchestrator/mcp"
)

// Limits of the Model Context Protocol's endpoint. A call also counts as a request of the API that answers it.
const (
	mcpConcurrency = 64
	mcpQueue       = 1024
	mcpBodyLimit   = 32 << 20 // a drawing
)

// openMCP serves the APIs as tools, unless that is switched off.
func (a *application) openMCP() error {
	if !a.config.MCP {
		return nil
	}
	options := mcp.Options{
		CallAPI: a.callAPI, FollowAPI: a.followAPI, ImageModels: a.imageModels, Version: version,
		Origins: a.config.CORSOrigins, Logger: a.logger,
	}
	if a.searches != nil {
		options.Tasks = searchTasks{a.searches}
	}
	service, err := mcp.New(a.ctx, options)
	if err != nil {
		return err
	}
	limits := gateway.Config{Concurrency: mcpConcurrency, Queue: mcpQueue, BodyLimit: mcpBodyLimit}
	for _, s := range services { // the timeout of the slowest API, and a second for its refusal to arrive
		limits.Timeout = max(limits.Timeout, s.limits(a.config).Timeout+time.Second)
	}
	a.mcp, err = a.openAuxiliary(service, a.options(limits)) // the gateways of the APIs report the calls to the gate
	return err
}
