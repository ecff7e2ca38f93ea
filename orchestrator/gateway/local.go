package gateway

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
)

// LocalRoutes serves the routes of a port that belong to no API as those of an API are served: each request has an id, a
// deadline, a span, its place in the metrics and a log line, and a panic is answered with 500.
type LocalRoutes struct{ gateway *Gateway }

// NewLocalRoutes returns what serves such routes under a name for the log and the metrics. Failures are worded by words.
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

// localAPI has what an exchange needs of an API.
type localAPI struct {
	API
	name  string
	words Words
}

func (l localAPI) Name() string { return l.name }

func (l localAPI) Words(string) Words { return l.words }

// departureInterval is how often the sockets of requests under way are looked at.
const departureInterval = 200 * time.Millisecond
