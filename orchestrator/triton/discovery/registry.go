// Package discovery follows the model repositories of all replicas of Triton. A Registry queries Triton periodically
// and publishes Snapshots. A Catalog opens the models of one API as they appear in the snapshots.
//
// Terms:
//   - look: one round of queries, which results in a snapshot.
//   - survey: the part of a look that lists the repository indexes.
//   - stale: from the last look that Triton answered, while no replica answers.
//   - sick: ready, but unable to answer on any replica (see package triton).
package discovery

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// Config configures a Registry.
type Config struct {
	// Every is the interval between looks. Default 1 s.
	Every time.Duration
	// Repository is the folder of the model repository, or "" if this process cannot read it: see triton.Model.Dir.
	Repository string
	// QueueDelay is the maximum queue delay of every dynamically batching model on every replica, set by a load with a
	// configuration override. Nil leaves the delays as they are.
	QueueDelay *time.Duration
	// Logger logs changes. The zero Logger is silent.
	Logger zerolog.Logger
}

// Registry knows which models are ready on any replica. It survives restarts of Triton.
type Registry struct {
	client *triton.Client
	config Config
	cancel context.CancelFunc
	done   sync.WaitGroup

	snapshot atomic.Pointer[Snapshot]
	looking  sync.Mutex // held during a look; guards survey and next
	survey   survey
	next     int // index of the model that the next look describes first

	notifying sync.Mutex // held while a snapshot is stored and the followers are notified
	mu        sync.Mutex // guards the followers
	followers map[int]func(*Snapshot)
	nextID    int
}

// NewRegistry returns a Registry that looks periodically. Its first Snapshot is stale and empty.
func NewRegistry(c *triton.Client, config Config) *Registry {
	if config.Every <= 0 {
		config.Every = time.Second
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Registry{
		client:    c,
		config:    config,
		cancel:    cancel,
		survey:    survey{client: c, listed: make(map[*triton.Replica]time.Time)},
		followers: make(map[int]func(*Snapshot)),
	}
	r.snapshot.Store(&Snapshot{Stale: true, Err: fault.New(fault.Unavailable, "Triton was not queried yet")})
	r.done.Go(func() { r.watch(ctx) })
	if config.QueueDelay != nil {
		delays := &queueDelay{registry: r, delay: *config.QueueDelay}
		r.done.Go(func() { delays.watch(ctx) })
	}
	return r
}

// Close stops the looks. The last snapshot stays.
func (r *Registry) Close() {
	r.cancel()
	r.done.Wait()
}

// Snapshot returns the latest snapshot.
func (r *Registry) Snapshot() *Snapshot { return r.snapshot.Load() }

// Follow calls f with the current snapshot before it returns, and then with every changed snapshot, in order and one at
// a time, until stop is called. The registry waits while f runs.
func (r *Registry) Follow(f func(*Snapshot)) (stop func()) {
	r.notifying.Lock()
	defer r.notifying.Unlock()
	f(r.Snapshot())
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.nextID
	r.nextID++
	r.followers[id] = f
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.followers, id)
	}
}

// Refresh looks now and returns the Err of the new snapshot.
func (r *Registry) Refresh(ctx context.Context) error {
	r.looking.Lock()
	defer r.looking.Unlock()
	old := r.Snapshot()
	latest := r.look(ctx, old)
	if errors.Is(ctx.Err(), context.Canceled) {
		return fault.As(ctx.Err()) // The caller left, which says nothing about Triton.
	}
	r.notifying.Lock()
	defer r.notifying.Unlock()
	r.snapshot.Store(latest)
	if !latest.equal(old) {
		r.logChanges(old, latest)
		r.notify(latest)
	}
	return latest.Err
}

func (r *Registry) watch(ctx context.Context) {
	ticker := time.NewTicker(r.config.Every)
	defer ticker.Stop()
	for {
		lookCtx, cancel := context.WithTimeout(ctx, max(2*time.Second, r.config.Every))
		_ = r.Refresh(lookCtx) // the snapshot has the error
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look queries Triton. The snapshot keeps what could not be queried from the old one.
func (r *Registry) look(ctx context.Context, old *Snapshot) *Snapshot {
	ready, err := r.survey.look(ctx)
	if err != nil {
		stale := *old
		stale.Stale = true
		stale.Err = err
		return &stale
	}
	latest := &Snapshot{Models: r.describe(ctx, ready, old), Sick: make(map[string]string)}
	for _, m := range latest.Models {
		if reason := r.client.Sickness(m.Name); reason != "" {
			latest.Sick[m.Name] = reason
		}
	}
	return latest
}

func (r *Registry) logChanges(old, latest *Snapshot) {
	for _, m := range latest.Models {
		if before, known := old.Model(m.Name); before != m {
			r.config.Logger.Info().Str("model", m.Name).Strs("versions", m.Versions).Bool("known", known).
				Msg("model is ready")
		}
	}
	for _, m := range old.Models {
		if _, ok := latest.Model(m.Name); !ok {
			r.config.Logger.Info().Str("model", m.Name).Msg("model is gone")
		}
	}
	if latest.Stale && !old.Stale {
		r.config.Logger.Warn().Err(latest.Err).Msg("no Triton answers; its models are remembered")
	}
}

// notify calls the followers in the order in which they began to follow.
func (r *Registry) notify(latest *Snapshot) {
	r.mu.Lock()
	followers := make([]func(*Snapshot), 0, len(r.followers))
	for _, id := range slices.Sorted(maps.Keys(r.followers)) {
		followers = append(followers, r.followers[id])
	}
	r.mu.Unlock()
	for _, f := range followers {
		f(latest)
	}
}
