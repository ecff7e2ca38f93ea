// Package gateway holds what all documented APIs share: limits, deadlines, streams, health, documentation, and a log
// line, metrics and a span for each request. It knows no API.
//
// A request: [httpserver.Guard] refuses what is ambiguous → the API's own Fiber app → an exchange (id, deadline,
// departure of the client) → an endpoint such as [JSON] reads the body, binds it to a typed request, validates it and
// takes a permit → the use case of the room → the answer, or the fault as the API renders it.
//
// Terms:
//
//   - endpoint: a Fiber handler made of a use case by JSON, JSONOrStream, Get, WithParams, Raw, Upload, Download,
//     Watch or HTTPHandler.
//   - exchange: one request, from its arrival to the end of its answer, streams included.
//   - interface: endpoints of another published API that a documented API answers too.
//   - dialect: how the clients of another published API expect faults from all APIs.
//   - call: a request that this program makes to one of its own APIs.
package gateway

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/cors"
	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
	"retort/orchestrator/gateway/admission"
	"retort/orchestrator/gateway/description"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/memory"
	"retort/orchestrator/provenance"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/unfinished"
)

// API is one documented API.
type API interface {
	// Name is one word, used in settings, logs, metrics and as path prefix.
	Name() string
	// Routes adds the API's own routes.
	Routes(r fiber.Router)
	// RenderFault renders a failure as the API documents it. The body is encoded as JSON.
	RenderFault(f *fault.Error) (status int, body any)
	// Health returns the documented bodies of a service that is ready and of one that is live.
	Health() (ready, live any)
	// Ready returns nil if the API can serve, else why not.
	Ready() error
	// Models lists the public ids of the models that it can serve now.
	Models() []string
	// OpenAPI is the API's description in YAML.
	OpenAPI() []byte
}

// Config are the settings of one API's listener and limits. The defaults depend on the API and are set by the
// orchestrator's Config.
type Config struct {
	Port        int           `default:"${port}" help:"Port for this API alone (0: none, -1: any free one)."`
	Concurrency int           `default:"${concurrency}" help:"Requests served at once; others wait."`
	Queue       int           `default:"1024" help:"Requests that may wait; others get 503."`
	BodyLimit   int           `default:"${body}" help:"Largest request body, in bytes."`
	Timeout     time.Duration `default:"120s" help:"Longest time for one request, including its stream."`
}

// Options are one API's limits and what all APIs share.
type Options struct {
	Config
	Keys   *Keys          // nil: no authentication
	Memory *memory.Budget // for the large bodies of all APIs; nil: no bound
	// Stopping ends when the process stops, and searches must answer with what they have found so far (see package
	// unfinished); nil: never.
	Stopping    context.Context
	CORSOrigins string // comma-separated; empty: no CORS
	Version     string // of this program
	Logger      zerolog.Logger
	Metrics     *telemetry.Metrics
	// StartRequest, if not nil, is called with the API and route of each request of a client that takes a permit. end
	// is called after the answer; ok reports success.
	StartRequest func(kind string) (end func(ok bool))
	// Identify returns what a manifest says about entries of the model repository and about the programs behind the
	// gateway, given the rows that each entry was given; nil: no answer can have a manifest.
	Identify func(ctx context.Context, rows map[string]int64) ([]provenance.Model, map[string]string)
	// Watches bounds the open streams of Watch endpoints.
	Watches admission.WatchLimits
	// TransferRate is the least average rate of uploads and downloads in bytes a second; 0: no bound.
	TransferRate int64
}

// Gateway serves one API.
type Gateway struct {
	api        API
	opts       Options
	app        *fiber.App
	permits    *admission.Permits
	uploads    *admission.Permits // not permits, which a slow client would hold
	downloads  *admission.Permits
	watches    *admission.Watches
	departures *httpserver.Departures
	life       context.Context
	routes     map[string]bool
	draining   func() bool
}

// New builds the app of one API. All work ends with life. Readiness is refused while draining reports true: the
// process is about to stop.
func New(life context.Context, api API, draining func() bool, opts Options) (*Gateway, error) {
	permits := func() *admission.Permits {
		return admission.NewPermits(api.Name(), opts.Concurrency, opts.Queue, opts.Metrics)
	}
	g := &Gateway{
		api:        api,
		opts:       opts,
		permits:    permits(),
		uploads:    permits(),
		downloads:  permits(),
		watches:    admission.NewWatches(opts.Watches),
		departures: httpserver.WatchDepartures(life),
		life:       life,
		routes:     map[string]bool{},
		draining:   draining,
	}
	opts.Metrics.AddAPI(api.Name())
	g.app = NewApp()
	g.app.Use(g.serve)
	if opts.CORSOrigins != "" {
		g.app.Use(cors.New(cors.Config{AllowOrigins: opts.CORSOrigins, ExposeHeaders: exposedHeaders}))
	}
	if opts.Keys != nil {
		g.app.Use(g.authorize)
	}
	api.Routes(g.app)
	g.serviceRoutes(g.app)
	source := description.Source{
		OpenAPI: api.OpenAPI(), Version: opts.Version, NeedsKey: opts.Keys != nil, Manifests: opts.Identify != nil,
	}
	if err := description.Mount(g.app, source, api.Models); err != nil {
		return nil, fmt.Errorf("%s: %w", api.Name(), err)
	}
	for _, r := range g.app.GetRoutes(true) {
		g.routes[r.Path] = true
	}
	return g, nil
}

// exposedHeaders are the headers of answers that a browser shows to pages of another origin.
const exposedHeaders = RequestIDHeader + ",Retry-After," + unfinished.Header + ",X-Compute-Tokens,X-Truncated-Tokens"

// NewApp returns a Fiber app whose handler an httpserver.Server can serve.
func NewApp() *fiber.App {
	return fiber.New(fiber.Config{AppName: "retort", DisableStartupMessage: true, StreamRequestBody: true})
}

// Handler serves the API, on a port of its own or behind a prefix. Clients whose base address ends before /v1 are
// served too.
func (g *Gateway) Handler() fasthttp.RequestHandler {
	serve := g.app.Handler()
	return httpserver.Guard(func(ctx *fasthttp.RequestCtx) {
		if path := string(ctx.Path()); !g.routes[path] && g.routes[versionPrefix+path] {
			ctx.Request.URI().SetPath(versionPrefix + path)
		}
		serve(ctx)
	}, g.refuse)
}

// versionPrefix starts the paths of most documented endpoints.
const versionPrefix = "/v1"

// refuse answers a request that reaches no route as the API renders it.
func (g *Gateway) refuse(ctx *fasthttp.RequestCtx, f *fault.Error) {
	c := g.app.AcquireCtx(ctx)
	defer g.app.ReleaseCtx(c)
	_ = g.startExchange(c).finish(c, f)
}

// serve wraps every request of the API.
func (g *Gateway) serve(c *fiber.Ctx) error {
	x := g.startExchange(c)
	return x.finish(c, x.catchPanic(c.Next))
}

// Posts lists the paths of the API's POST endpoints, without those of one object, whose path has its id.
func (g *Gateway) Posts() (paths []string) {
	for _, r := range g.app.GetRoutes(true) {
		if r.Method == fiber.MethodPost && !strings.Contains(r.Path, ":") {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// Config returns the limits of the API.
func (g *Gateway) Config() Config { return g.opts.Config }

// API returns the API that this gateway serves.
func (g *Gateway) API() API { return g.api }

// LocalRoutes serves the routes of a port that belong to no API. As with the routes of an API, each request has an id,
// a deadline, a span, metrics and a log line, and a panic is answered with 500.
type LocalRoutes struct{ gateway *Gateway }

// NewLocalRoutes returns routes that the log and the metrics show under name. render renders their failures.
func NewLocalRoutes(life context.Context, name string, render RenderFunc, opts Options) *LocalRoutes {
	return &LocalRoutes{&Gateway{
		api:        localAPI{name: name, render: render},
		opts:       opts,
		departures: httpserver.WatchDepartures(life),
		life:       life,
		routes:     map[string]bool{},
	}}
}

// Route wraps the handler of a route.
func (l *LocalRoutes) Route(handle fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := l.gateway.startExchange(c)
		x.setRoute(c)
		return x.finish(c, x.catchPanic(func() error { return handle(c) }))
	}
}

// localAPI is the part of an API that an exchange needs.
type localAPI struct {
	API
	name   string
	render RenderFunc
}

func (l localAPI) Name() string { return l.name }

func (l localAPI) Renderer(string) RenderFunc { return l.render }
