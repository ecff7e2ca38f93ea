package main

import (
	"context"
	"net/http"
	"slices"

	"github.com/rs/zerolog"

	"retort/orchestrator/chat"
	"retort/orchestrator/gateway"
	"retort/orchestrator/jobs/optimization"
)

// application has the gateways of all APIs, and of the endpoints that belong to no API.
type application struct {
	*resources
	gateways      []*gateway.Gateway          // in the order of services
	mcp           *gateway.Gateway            // nil if it is switched off
	page          *gateway.Gateway            // of the web page
	batches       *gateway.Gateway            // of files and batches
	optimizations map[string]*gateway.Gateway // of searches as jobs, by API; nil if jobs are switched off
	searches      *optimization.Service       // behind these gateways; nil if jobs are switched off
	jobs          jobs
}

// openApplication opens all gateways and starts the workers of jobs.
func openApplication(config *Config, logger zerolog.Logger) (*application, error) {
	r, err := openResources(config, logger)
	if err != nil {
		return nil, err
	}
	a := &application{resources: r}
	a.jobs.logger = logger
	if err := a.openGateways(); err != nil {
		a.close()
		return nil, err
	}
	return a, nil
}

func (a *application) openGateways() error {
	for _, s := range services {
		options := a.options(s.limits(a.config))
		options.Identify = a.identify
		g, err := a.openGateway(s.open(a.resources), options)
		if err != nil {
			return err
		}
		a.gateways = append(a.gateways, g)
	}
	for _, open := range []func() error{
		a.openOptimizations, a.openResponses, a.openMCP, a.openPage, a.openBatches, a.openJobs,
	} {
		if err := open(); err != nil {
			return err
		}
	}
	return nil
}

func (a *application) close() {
	a.cancel()
	a.jobs.close()
	a.resources.close()
}

// gateway returns the gateway of an API.
func (a *application) gateway(api string) (*gateway.Gateway, bool) {
	at := slices.IndexFunc(services, func(s service) bool { return s.name == api })
	if at < 0 {
		return nil, false
	}
	return a.gateways[at], true
}

// callAPI sends a request of this program to an API.
func (a *application) callAPI(ctx context.Context, api, method, path string, body []byte) (status int, answer []byte) {
	g, ok := a.gateway(api)
	if !ok {
		return http.StatusNotFound, nil
	}
	result := g.Call(ctx, gateway.Call{Method: method, Path: path, Body: body, Caller: gateway.Caller(ctx)})
	return result.Status, result.Body
}

// followAPI is callAPI for an answer that may be a stream of server-sent events, of which onEvent gets the data.
func (a *application) followAPI(
	ctx context.Context, api, path string, body []byte, onEvent func(data []byte) error,
) (status int, answer []byte, err error) {
	g, ok := a.gateway(api)
	if !ok {
		return http.StatusNotFound, nil, nil
	}
	return g.Follow(ctx, gateway.Call{Path: path, Body: body, Caller: gateway.Caller(ctx)}, onEvent)
}

// imageModels returns the public ids of the chat models that take images.
func (a *application) imageModels() []string {
	g, _ := a.gateway("chat")
	return g.API().(*chat.Service).ImageModels()
}
