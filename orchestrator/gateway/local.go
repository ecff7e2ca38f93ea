package gateway

import (
	"context"

	"github.com/gofiber/fiber/v2"
)

// LocalRoutes serves the routes of a port that belong to no API. As on the routes of an API, each request has an id, a
// deadline, a span, metrics and a log line, and a panic is answered with 500.
type LocalRoutes struct{ gateway *Gateway }

// NewLocalRoutes returns routes that the log and the metrics have under name. words renders their failures.
func NewLocalRoutes(life context.Context, name string, words Words, opts Options) *LocalRoutes {
	return &LocalRoutes{&Gateway{
		api:        localAPI{name: name, words: words},
		opts:       opts,
		departures: watchDepartures(life, departureInterval),
		life:       life,
		routes:     map[string]bool{},
	}}
}

// Route wraps the handler of a route.
func (l *LocalRoutes) Route(handle fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := l.gateway.begin(c)
		x.named(c.Route().Path)
		return x.finish(c, x.guard(func() error { return handle(c) }))
	}
}

// localAPI is the part of an API that an exchange needs.
type localAPI struct {
	API
	name  string
	words Words
}

func (l localAPI) Name() string { return l.name }

func (l localAPI) Words(string) Words { return l.words }
