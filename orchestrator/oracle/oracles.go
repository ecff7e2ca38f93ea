package oracle

import (
	"context"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
	"retort/orchestrator/triton/discovery"
)

// Config has the settings of all oracles.
type Config struct {
	Timeout time.Duration `default:"60s" help:"Longest time for one call of an oracle."`
	Calls   int           `default:"100000" help:"Most molecules that the oracles may score for one request."`
}

// Oracles are the oracles that Triton currently serves.
type Oracles struct {
	catalog *discovery.Catalog[objective.Oracle]
	calls   int
}

// New returns the oracles of a catalog.
func New(config Config, catalog *discovery.Catalog[objective.Oracle]) *Oracles {
	return &Oracles{catalog: catalog, calls: config.Calls}
}

// All returns the oracles, also those that are sick, so that a request which names one learns that it does not answer.
func (o *Oracles) All() []objective.Oracle { return append(o.catalog.All(), o.catalog.Sick()...) }

// Check probes the oracles of an objective, before a long computation, and bounds the molecules that they may score.
// The error is that of Probe, or a fault.Invalid with the path of the term.
func (o *Oracles) Check(ctx context.Context, opened *objective.Objective, molecules int) error {
	if opened.HasOracle() && molecules > o.calls {
		return fault.Field("value_error", molecules, opened.OraclePath(),
			"Value error, the request would have the oracle score up to %d molecules, the most is %d",
			molecules, o.calls)
	}
	return opened.Probe(ctx)
}
