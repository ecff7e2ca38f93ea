// Package gateway holds what is true of every documented API and of none in particular: the server of a port, limits,
// deadlines, streams, health, documentation, and one log line, metric and span per request.
//
// A request: [Guard] refuses what two programs could read differently → the API's own Fiber app → an exchange (id,
// deadline, departure of the client) → [JSON] or [JSONOrStream] reads the body, decodes it, validates, and takes a
// permit → the use case of the room → the answer, or the fault as the room words it.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/cors"
	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/fault"
	"retort/orchestrator/memory"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/unfinished"
)

// API is one documented API as the gateway sees it.
type API interface {
	// Name is one word, used in settings, logs, metrics and as path prefix.
	Name() string
	// Routes adds the API's own routes.
	Routes(r fiber.Router)
	// RenderFault words a failure as the API documents it. The body is encoded as JSON.
	RenderFault(f *fault.Error) (status int, body any)
	// Health returns the documented bodies of a service that is ready and of one that is alive.
	Health() (ready, live any)
	// Ready returns nil when the API can serve, else why not.
	Ready() error
	// Models lists the public ids of the models it can serve now.
	Models() []string
	// OpenAPI is the API's description in YAML.
	OpenAPI() []byte
}

// Options are one API's limits and what all APIs share.
type Options struct {
	Config
	Keys   *Keys          // nil: no authentication
	Memory *memory.Budget // of all APIs, for large bodies; nil: no bound
	// Stopping ends when work that can answer with what it has found so far has to, since the process is being stopped:
	// see the package unfinished. nil for never.
	Stopping    context.Context
	CORSOrigins string // comma-separated; empty: no CORS
	Version     string // of this program
	Logger      zerolog.Logger
	Metrics     *telemetry.Metrics
	// Interactive is told of every request that a client waits for and that takes a permit, by its kind; ended is called
	// with its end, and whether it was answered with success. nil: nobody is.
	Interactive func(kind string) (ended func(ok bool))
	// Watches bounds the open streams of Watch endpoints.
	Watches Watches
	// TransferRate is how many bytes a second an upload or a download has to move on average; 0: any pace will do.
	TransferRate int64
}

// Gateway serves one API.
type Gateway struct {
	api        API
	opts       Options
	app        *fiber.App
	permits    *permits
	uploads    *permits // bound uploads and downloads, which go at the pace of their clients and so take no permit
	downloads  *permits
	watches    *watches
	departures *departures
	life       context.Context
	routes     map[string]bool
	draining   func() bool
}

// New builds the app of one API. All work ends when life does; draining says whether the process is about to stop, when
// readiness must be refused.
func New(life context.Context, api API, draining func() bool, opts Options) (*Gateway, error) {
	g := &Gateway{
		api:        api,
		opts:       opts,
		permits:    newPermits(api.Name(), opts.Concurrency, opts.Queue, opts.Metrics),
		uploads:    newPermits(api.Name(), opts.Concurrency, opts.Queue, opts.Metrics),
		downloads:  newPermits(api.Name(), opts.Concurrency, opts.Queue, opts.Metrics),
		watches:    newWatches(opts.Watches),
		departures: watchDepartures(life, departureInterval),
		life:       life,
		routes:     map[string]bool{},
		draining:   draining,
	}
	opts.Metrics.Serves(api.Name())
	g.app = NewApp()
	g.app.Use(g.serve)
	if opts.CORSOrigins != "" {
		g.app.Use(cors.New(cors.Config{AllowOrigins: opts.CORSOrigins, ExposeHeaders: exposed}))
	}
	if opts.Keys != nil {
		g.app.Use(g.authorize)
	}
	api.Routes(g.app)
	g.health(g.app)
	if err := g.docs(g.app); err != nil {
		return nil, fmt.Errorf("%s: %w", api.Name(), err)
	}
	for _, r := range g.app.GetRoutes(true) {
		g.routes[r.Path] = true
	}
	return g, nil
}

// exposed are the headers of answers that a browser shows to a page of another origin.
const exposed = RequestIDHeader + ",Retry-After," + unfinished.Header

// NewApp returns a Fiber app for a Server.
func NewApp() *fiber.App {
	return fiber.New(fiber.Config{AppName: "retort", DisableStartupMessage: true, StreamRequestBody: true})
}

// Handler serves the API, on a port of its own or behind a prefix. Clients whose base address ends before /v1 are
// served too.
func (g *Gateway) Handler() fasthttp.RequestHandler {
	serve := g.app.Handler()
	return Guard(func(ctx *fasthttp.RequestCtx) {
		if path := string(ctx.Path()); !g.routes[path] && g.routes[versioned+path] {
			ctx.Request.URI().SetPath(versioned + path)
		}
		serve(ctx)
	}, g.refuse)
}

// versioned begins the paths of the documented family.
const versioned = "/v1"

// refuse answers a request that reaches no route in the words of the API.
func (g *Gateway) refuse(ctx *fasthttp.RequestCtx, f *fault.Error) {
	c := g.app.AcquireCtx(ctx)
	defer g.app.ReleaseCtx(c)
	x := g.begin(c)
	x.render(c, f)
	x.end(c.Response().StatusCode(), len(c.Response().Body()))
}

// Posts lists the paths of the API's POST endpoints.
func (g *Gateway) Posts() (paths []string) {
	for _, r := range g.app.GetRoutes(true) {
		if r.Method == fiber.MethodPost {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// API is the API that this gateway serves.
func (g *Gateway) API() API { return g.api }

// serve wraps every request of the API.
func (g *Gateway) serve(c *fiber.Ctx) error {
	x := g.begin(c)
	return x.finish(c, x.guard(c.Next))
}

// finish ends an exchange with its handler's answer or error.
func (x *exchange) finish(c *fiber.Ctx, err error) error {
	if err == nil && x.stream {
		return nil // the exchange ends with its stream
	}
	if err != nil {
		x.render(c, err)
	}
	x.end(c.Response().StatusCode(), len(c.Response().Body()))
	return nil
}

// guard turns a panic of next into an error.
func (x *exchange) guard(next func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			x.log.Error().Bytes("stack", debug.Stack()).Msgf("panic: %v", p)
			err = fault.New(fault.Internal, "panic: %v", p)
		}
	}()
	return next()
}

// render answers with err in the words of the API.
func (x *exchange) render(c *fiber.Ctx, err error) {
	var refusal *Refusal
	if errors.As(err, &refusal) {
		x.err = err
		c.Status(refusal.Status).Response().SetBodyRaw(refusal.Body)
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
		return
	}
	f := x.gateway.classify(err)
	x.err = f
	if f.RetryAfter > 0 || f.Kind == fault.Overloaded || f.Kind == fault.Unavailable {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(max(1, int(f.RetryAfter.Round(time.Second)/time.Second))))
	}
	if f.Kind == fault.Unauthorized {
		c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
	}
	status, body := x.word(f)
	c.Response().ResetBody()
	c.Status(status)
	if err := send(c, body); err != nil {
		x.log.Error().Err(err).Msg("fault not encoded")
	}
}

// classify makes a fault of any error. What is internal is not shown.
func (g *Gateway) classify(err error) *fault.Error {
	var known *fiber.Error
	if errors.As(err, &known) {
		return fromFiber(known)
	}
	f := fault.As(err).Clipped()
	if f.Kind != fault.Internal && f.Kind != fault.Rejected {
		return f
	}
	return &fault.Error{Kind: fault.Internal, Message: "Internal server error", Err: err}
}

func fromFiber(err *fiber.Error) *fault.Error {
	switch err.Code {
	case fiber.StatusNotFound:
		return fault.Missing(fault.Route, "Not Found")
	case fiber.StatusMethodNotAllowed:
		return fault.New(fault.Method, "Method Not Allowed")
	case fiber.StatusRequestEntityTooLarge:
		return fault.New(fault.TooLarge, "%s", err.Message)
	default:
		return fault.Wrap(fault.Invalid, err, "%s", err.Message)
	}
}
