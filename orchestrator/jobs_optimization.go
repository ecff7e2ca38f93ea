package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"retort/orchestrator/gateway"
	"retort/orchestrator/gateway/admission"
	"retort/orchestrator/jobs/optimization"
	"retort/orchestrator/oracle"
)

// optimizationLimits are for the endpoints of searches as jobs. Their body limit is that of the API.
var optimizationLimits = gateway.Config{
	Concurrency: 64,
	Queue:       1024,
	Timeout:     time.Hour, // for a client that watches a job
}

// openOptimizations offers the searches of the molecule APIs as jobs, unless jobs are switched off.
func (a *application) openOptimizations() error {
	if !a.config.Jobs {
		return nil
	}
	service := optimization.New(a.config.Optimization, a.followRequest, a.logger)
	a.jobs.kinds = append(a.jobs.kinds, service)
	a.searches = service
	a.optimizations = map[string]*gateway.Gateway{}
	for i, s := range services {
		if !s.searches {
			continue
		}
		options := a.options(optimizationLimits)
		options.BodyLimit = s.limits(a.config).BodyLimit
		options.Watches = admission.WatchLimits{Total: a.config.MaxWatches, PerClient: a.config.ClientWatches}
		options.TransferRate = a.config.Batch.TransferRate
		g, err := a.openAuxiliary(service.Endpoints(a.gateways[i].API()), options)
		if err != nil {
			return err
		}
		a.optimizations[s.name] = g
	}
	return nil
}

// followRequest sends a request for a job to its API, which works on it or only validates its body.
func (a *application) followRequest(
	ctx context.Context, r optimization.Request, each func([]byte) error,
) (int, []byte, error) {
	g, ok := a.gateway(r.API)
	if !ok {
		return http.StatusNotFound, nil, nil
	}
	call := gateway.Call{
		Path: "/generate", Body: r.Body, Timeout: r.Timeout, Stopping: r.Stopping,
		Background: !r.ValidateOnly, ValidateOnly: r.ValidateOnly, ManifestPath: optimization.Path,
	}
	if r.Told != nil {
		call.WithValues = func(ctx context.Context) context.Context { return oracle.WithTell(ctx, r.Told) }
	}
	return g.Follow(ctx, call, each)
}

// withJobs adds the endpoints of jobs to the handler of an API.
func (a *application) withJobs(api string, serve fasthttp.RequestHandler) fasthttp.RequestHandler {
	return a.withBatches(api, a.withOptimizations(api, serve))
}

// withOptimizations adds the searches of an API as jobs to its handler.
func (a *application) withOptimizations(api string, serve fasthttp.RequestHandler) fasthttp.RequestHandler {
	g, ok := a.optimizations[api]
	if !ok {
		return serve
	}
	serveJobs := g.Handler()
	return func(c *fasthttp.RequestCtx) {
		rest, found := strings.CutPrefix(string(c.Path()), optimization.Path)
		if !found || rest != "" && rest[0] != '/' {
			serve(c)
			return
		}
		if rest == "/docs" || rest == "/openapi.json" {
			c.Request.URI().SetPath(rest)
		}
		serveJobs(c)
	}
}
