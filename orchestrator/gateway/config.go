package gateway

import "time"

// Config are the settings of one API's listener and limits. The defaults come from the API's place in the
// orchestrator's Config.
type Config struct {
	Port        int           `default:"${port}" help:"Port of its own for this API (0: none, -1: any free one)."`
	Concurrency int           `default:"${concurrency}" help:"Requests served at once; the rest wait."`
	Queue       int           `default:"1024" help:"Requests that may wait; more are refused with Retry-After."`
	BodyLimit   int           `default:"${body}" help:"Largest request body in bytes."`
	Timeout     time.Duration `default:"120s" help:"Longest time for one request, a stream included."`
}
