package oracle

import "time"

// Config are the settings of all oracles.
type Config struct {
	Timeout time.Duration `default:"60s" help:"How long an oracle may take for one call."`
	Calls   int           `default:"100000" help:"Most molecules that one request may have oracles score."`
}
