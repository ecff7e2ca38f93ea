package main

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"retort/orchestrator/gateway"
	"retort/orchestrator/jobs/optimization"
)

// Bounds of the endpoints of searches as jobs. The longest of them is a client that watches one.
const (
	optimizationConcurrency = 64
	optimizationQueue       = 1024
	optimizationTimeout     = time.Hour
)

// optimized are the APIs whose searches can be jobs.
var optimized = []string{"latent", "masked"}

// openOptimizations offers the searches of the molecule APIs as jobs, unless jobs are switched off.
func (a *application) openOptimizations() error {
	if !a.config.Jobs {
		return nil
	}
	service := optimization.New(a.config.Optimization, a.followAttempt, a.logger)
	a.jobs.kinds = append(a.jobs.kinds, service)
	a.optimizations = map[string]*gateway.Gateway{}
	for _, api := range optimized {
		of, _ := a.gateway(api)
		options := a.options(gateway.Config{
			Concurrency: optimizationConcurrency, Queue: optimizationQueue, Timeout: optimizationTimeout,
			BodyLimit: a.limits(api).BodyLimit,
		})
		options.Interactive = nil // no model answers these
		options.Watches = gateway.Watches{All: a.config.MaxWatches, PerClient: a.config.ClientWatches}
		options.TransferRate = a.config.Batch.TransferRate
		var err error
		if a.optimizations[api], err = gateway.New(a.life, service.Of(of.API()), a.draining.Load, options); err != nil {
			return err
		}
	}
	return nil
}

// limits are those of an API.
func (a *application) limits(api string) (limits gateway.Config) {
	for _, s := range services {
		if s.name == api {
			limits = s.limits(a.config)
		}
	}
	return limits
}

// followAttempt has an API work on a job, or check its body.
func (a *application) followAttempt(ctx context.Context, attempt optimization.Attempt, each func([]byte) error) (int, []byte, error) {
	g, ok := a.gateway(attempt.API)
	if !ok {
		return http.StatusNotFound, nil, nil
	}
	work := gateway.Work{Timeout: attempt.Timeout, Stopping: attempt.Stopping, Trial: attempt.Trial}
	return g.Follow(ctx, work, "/generate", attempt.Body, each)
}

// withJobs serves an API with the jobs that are beside it.
func (a *application) withJobs(api string, serve fasthttp.RequestHandler) fasthttp.RequestHandler {
	return a.withBatches(api, a.withOptimizations(api, serve))
}

// withOptimizations serves the jobs of an API beside it, and the API.
func (a *application) withOptimizations(api string, serve fasthttp.RequestHandler) fasthttp.RequestHandler {
	g, ok := a.optimizations[api]
	if !ok {
		return serve
	}
	jobs := g.Handler()
	return func(c *fasthttp.RequestCtx) {
		rest, found := strings.CutPrefix(string(c.Path()), optimization.Path)
		if !found || rest != "" && rest[0] != '/' {
			serve(c)
			return
		}
		switch rest {
		case "/docs", "/openapi.json":
			c.Request.URI().SetPath(rest)
		}
		jobs(c)
	}
}
