package gateway

import (
	"context"
	"time"

	"github.com/gofiber/fiber/v2"
)

// Own serves the routes of a port that belong to no API as those of an API are served: each request has an id, a deadline,
// a span, its place in the metrics and a log line, and a panic is answered with 500.
type Own struct{ gateway *Gateway }

// NewOwn returns what serves such routes under a name for the log and the metrics. Failures are worded by words.
func NewOwn(life context.Context, name string, words Words, opts Options) *Own {
	return &Own{&Gateway{
		api:        ownAPI{name: name, words: words},
		opts:       opts,
		departures: watchDepartures(life, departureInterval),
		life:       life,
		routes:     map[string]bool{},
	}}
}

// Route wraps the handler of a route.
func (o *Own) Route(handle fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		x := o.gateway.begin(c)
		x.named(c.Route().Path)
		return x.finish(c, x.guard(func() error { return handle(c) }))
	}
}

// ownAPI has what an exchange needs of an API.
type ownAPI struct {
	API
	name  string
	words Words
}

func (o ownAPI) Name() string { return o.name }

func (o ownAPI) Words(string) Words { return o.words }

// departureInterval is how often the sockets of requests under way are looked at.
const departureInterval = 200 * time.Millisecond
