package main

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"retort/orchestrator/dialect"
	"retort/orchestrator/embedding/tei"
	"retort/orchestrator/gateway"
	"retort/orchestrator/jobs/batch"
)

// batchLimits are for the endpoints of files and batches. Files have a size limit of their own.
var batchLimits = gateway.Config{
	Concurrency: 64,
	Queue:       1024,
	BodyLimit:   1 << 20,
	Timeout:     time.Hour, // for an upload or a download
}

// openBatches opens the endpoints of files and batches. If jobs are switched off, they answer 404.
func (a *application) openBatches() (err error) {
	service := batch.Off()
	if a.config.Jobs {
		program := batch.Program{
			Endpoints: a.batchEndpoints,
			Send:      a.sendLine,
			Acquire:   a.gate.Acquire,
			Memory:    a.memory,
			Meter:     a.metrics,
			Logger:    a.logger,
		}
		for _, s := range services {
			program.APIs = append(program.APIs, s.name)
		}
		service = batch.New(a.config.Batch, program)
		a.jobs.kinds = append(a.jobs.kinds, service)
	}
	options := a.options(batchLimits)
	options.TransferRate = a.config.Batch.TransferRate
	a.batches, err = a.openAuxiliary(service, options)
	return err
}

// batchEndpoints returns the endpoints that a batch can be for. On the port of an API they are the endpoints of that
// API. On the main port, where via is "", they are those of all APIs under their prefixes, and those of the APIs that
// are called by model also without a prefix.
func (a *application) batchEndpoints(via string) (endpoints []batch.Endpoint) {
	for i, s := range services {
		lines := batch.SlowLines
		if s.name == "embedding" || s.name == "ranking" {
			lines = batch.QuickLines
		}
		for _, path := range a.gateways[i].Posts() {
			if path == tei.RootPath {
				continue
			}
			endpoint := batch.Endpoint{API: s.name, Path: path, Lines: lines, Bytes: s.limits(a.config).BodyLimit}
			add := func(url string, openAI bool) {
				endpoint.URL = url
				endpoint.OpenAI = openAI
				endpoints = append(endpoints, endpoint)
			}
			switch via {
			case s.name:
				add(path, false)
			case "":
				add("/"+s.name+path, false)
				if s.byModel && slices.Contains(openAIPaths(a.gateways[i]), path) {
					add(path, true)
				}
			}
		}
	}
	return endpoints
}

// sendLine sends a line of a batch to its API.
func (a *application) sendLine(ctx context.Context, r batch.Request) batch.Reply {
	g, ok := a.gateway(r.API)
	if !ok {
		return batch.Reply{Status: http.StatusNotFound}
	}
	call := gateway.Call{Path: r.Path, Body: r.Body, ID: r.ID, Caller: r.Caller, Background: true}
	if r.OpenAI {
		call.Dialect = dialect.OpenAI
	}
	result := g.Call(ctx, call)
	return batch.Reply{Status: result.Status, Body: result.Body, Unfinished: result.Unfinished}
}

// withBatches adds files and batches to the handler of an API.
func (a *application) withBatches(api string, serve fasthttp.RequestHandler) fasthttp.RequestHandler {
	serveBatches := a.batches.Handler()
	return func(c *fasthttp.RequestCtx) {
		if !isBatchPath(string(c.Path())) {
			serve(c)
			return
		}
		gateway.SetVia(c, api)
		serveBatches(c)
	}
}

// isBatchPath reports whether a path, with or without /v1, is one of files or batches.
func isBatchPath(path string) bool {
	path = strings.TrimPrefix(path, openAIBase)
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first == "files" || first == "batches"
}
