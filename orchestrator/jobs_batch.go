package main

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"retort/orchestrator/gateway"
	"retort/orchestrator/jobs/batch"
)

// Bounds of the endpoints of files and batches, beside the length of a file.
const (
	batchConcurrency = 64
	batchQueue       = 1024
	batchBodyLimit   = 1 << 20
	batchTimeout     = time.Hour // an upload, or a client that reads its results
)

// openBatches offers files and batches; where jobs are switched off they are answered as what there is not.
func (a *application) openBatches() (err error) {
	service := batch.Off()
	if a.config.Jobs {
		outside := batch.Outside{
			Endpoints: a.batchEndpoints,
			Ask:       a.askLine,
			Place:     a.gate.Place,
			Memory:    a.memory,
			Meter:     a.metrics,
			Logger:    a.logger,
		}
		for _, s := range services {
			outside.APIs = append(outside.APIs, s.name)
		}
		service = batch.New(a.config.Batch, outside)
		a.jobs.kinds = append(a.jobs.kinds, service)
	}
	options := a.options(gateway.Config{Concurrency: batchConcurrency, Queue: batchQueue, BodyLimit: batchBodyLimit, Timeout: batchTimeout})
	options.Interactive = nil // no model answers these
	options.TransferRate = a.config.Batch.TransferRate
	a.batches, err = gateway.New(a.life, service, a.draining.Load, options)
	return err
}

// batchEndpoints are the endpoints that a batch may be for: on an API's own port those of that API; on the main port
// those of the APIs that are called by model, and each API's under its prefix.
func (a *application) batchEndpoints(via string) (endpoints []batch.Endpoint) {
	for i, s := range services {
		lines := batch.SlowLines
		if s.name == "embedding" || s.name == "ranking" {
			lines = batch.QuickLines
		}
		for _, path := range a.gateways[i].Posts() {
			e := batch.Endpoint{API: s.name, Path: path, Lines: lines, Bytes: s.limits(a.config).BodyLimit}
			add := func(url string, openAI bool) {
				e.URL = url
				e.OpenAI = openAI
				endpoints = append(endpoints, e)
			}
			switch via {
			case s.name:
				add(path, false)
			case "":
				add("/"+s.name+path, false)
				if s.byModel {
					add(path, true)
				}
			}
		}
	}
	return endpoints
}

// askLine has an API answer a line of a batch.
func (a *application) askLine(ctx context.Context, q batch.Question) batch.Reply {
	g, ok := a.gateway(q.API)
	if !ok {
		return batch.Reply{Status: http.StatusNotFound}
	}
	how := gateway.Asking{ID: q.ID, OpenAI: q.OpenAI, Background: true}
	status, answer, cut := g.AskAs(ctx, how, http.MethodPost, q.Path, q.Body)
	return batch.Reply{Status: status, Body: answer, Unfinished: cut}
}

// withBatches serves files and batches beside an API, and the API.
func (a *application) withBatches(api string, serve fasthttp.RequestHandler) fasthttp.RequestHandler {
	batches := a.batches.Handler()
	return func(c *fasthttp.RequestCtx) {
		if !isBatchPath(string(c.Path())) {
			serve(c)
			return
		}
		gateway.SetVia(c, api)
		batches(c)
	}
}

// isBatchPath says whether a path is one of files and batches, with /v1 at its begin or without.
func isBatchPath(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(cmp.Or(strings.TrimPrefix(path, openAIBase), path), "/"), "/")
	return first == "files" || first == "batches"
}
