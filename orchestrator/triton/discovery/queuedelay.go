package discovery

import (
	"context"
	"time"

	"retort/orchestrator/triton"
)

const (
	// delayRecheck is the interval between checks of an unchanged model: the repository index does not show that a
	// version was loaded with another configuration.
	delayRecheck = time.Minute
	// delayTimeout bounds one load, which may build the engine of a large model.
	delayTimeout = 10 * time.Minute
)

// queueDelay sets the maximum queue delay of all dynamically batching models on all replicas. If a server refuses loads
// (--model-control-mode=poll or none), it logs a warning and the model keeps its delay.
type queueDelay struct {
	registry *Registry
	delay    time.Duration
	checked  map[string]map[string]delayCheck // by replica address and model name
}

// delayCheck is the last check of a model on a replica.
type delayCheck struct {
	model *triton.Model
	at    time.Time
}

func (q *queueDelay) watch(ctx context.Context) {
	ticker := time.NewTicker(q.registry.config.Every)
	defer ticker.Stop()
	for {
		q.check(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// check sets the delay of new, changed and rechecked models, one after the other.
func (q *queueDelay) check(ctx context.Context, now time.Time) {
	snapshot := q.registry.Snapshot()
	if snapshot.Stale {
		return
	}
	checked := make(map[string]map[string]delayCheck)
	for _, r := range q.registry.client.Live() {
		checks := make(map[string]delayCheck)
		checked[r.Address()] = checks
		index := r.Index()
		for _, m := range snapshot.Models {
			if ctx.Err() != nil || index == nil || len(index.Ready()[m.Name]) == 0 {
				continue
			}
			last := q.checked[r.Address()][m.Name]
			if last.model != m || now.Sub(last.at) >= delayRecheck {
				last = delayCheck{m, now}
				q.set(ctx, r, m.Name)
			}
			checks[m.Name] = last
		}
	}
	q.checked = checked
}

func (q *queueDelay) set(ctx context.Context, r *triton.Replica, model string) {
	ctx, cancel := context.WithTimeout(ctx, delayTimeout)
	defer cancel()
	log := q.registry.config.Logger.With().
		Str("replica", r.Address()).Str("model", model).Dur("delay", q.delay).Logger()
	changed, err := r.SetQueueDelay(ctx, model, q.delay)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		log.Warn().Err(err).Msg("the maximum queue delay was not set")
	case changed:
		log.Info().Msg("maximum queue delay set")
	}
}
