package oracle

import (
	"context"

	"retort/orchestrator/fault"
	"retort/orchestrator/objective"
	"retort/orchestrator/triton/discovery"
)

// Oracles are those that Triton serves now.
type Oracles struct {
	catalog *discovery.Catalog[objective.Oracle]
	calls   int
}

// New returns the oracles of a catalog.
func New(config Config, catalog *discovery.Catalog[objective.Oracle]) *Oracles {
	return &Oracles{catalog: catalog, calls: config.Calls}
}

// All are the oracles.
func (o *Oracles) All() []objective.Oracle { return o.catalog.All() }

// Check says, before anything is computed, whether an objective can be: that its oracles answer, and that the molecules
// that a request has scored are no more than the setting allows. The error is Invalid where the request is at fault, and
// leads to the term.
func (o *Oracles) Check(ctx context.Context, one *objective.Objective, molecules int) error {
	if one.HasOracle() && molecules > o.calls {
		return fault.Field("value_error", molecules, one.OraclePath(),
			"Value error, the request would have the oracle score up to %d molecules, the most is %d", molecules, o.calls)
	}
	return one.Probe(ctx)
}
