package triton

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
)

// RegistryConfig says how models are discovered.
type RegistryConfig struct {
	// Every is the time between two looks at Triton. Default 1 s.
	Every time.Duration
	// Repository is the folder of the model repository, when this process can read it: see Model.Dir. Empty otherwise.
	Repository string
	// QueueDelay is the maximum queue delay that every model that batches dynamically is given on every replica, by a load
	// with a configuration override; nil leaves those of the repository.
	QueueDelay *time.Duration
	// Logger gets a line for each change. The zero Logger is silent.
	Logger zerolog.Logger
}

// Registry knows which models are loaded and ready. It asks all replicas again and again, so what operators do to the
// model repository shows by itself, and Triton may go away and come back.
type Registry struct {
	client *Client
	config RegistryConfig
	cancel context.CancelFunc
	done   sync.WaitGroup

	snapshot atomic.Pointer[Snapshot]
	polling  sync.Mutex // one look at a time
	surveyed *survey    // what the last look found in the indexes
	turn     int        // the model that the next look describes first
	telling  sync.Mutex // held while a snapshot is stored and the watchers are told
	mu       sync.Mutex // of the watchers
	watchers map[int]func(*Snapshot)
	next     int
}

// NewRegistry starts to look. The first Snapshot is stale and empty; Refresh waits for a better one.
func NewRegistry(c *Client, config RegistryConfig) *Registry {
	setDefault(&config.Every, time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	r := &Registry{client: c, config: config, cancel: cancel, watchers: make(map[int]func(*Snapshot))}
	r.snapshot.Store(&Snapshot{Stale: true, Err: errNoReplica()})
	r.done.Go(func() { r.watch(ctx) })
	if config.QueueDelay != nil {
		delays := &queueDelay{registry: r, delay: *config.QueueDelay}
		r.done.Go(func() { delays.watch(ctx) })
	}
	return r
}

// Close ends the looking. The last snapshot stays.
func (r *Registry) Close() {
	r.cancel()
	r.done.Wait()
}

// Snapshot returns what was seen last. It never changes.
func (r *Registry) Snapshot() *Snapshot { return r.snapshot.Load() }

// Models returns the ready models of an API, by name.
func (r *Registry) Models(api string) []*Model { return r.Snapshot().Of(api) }

// Model returns a ready model.
func (r *Registry) Model(name string) (*Model, bool) { return r.Snapshot().Model(name) }

// Follow calls f with the present snapshot before it returns, and then with every snapshot that differs from the one
// before it, in order and one at a time, until stop is called. f holds up discovery while it runs.
func (r *Registry) Follow(f func(*Snapshot)) (stop func()) {
	r.telling.Lock()
	defer r.telling.Unlock()
	f(r.Snapshot())
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.next
	r.next++
	r.watchers[id] = f
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.watchers, id)
	}
}

// Refresh looks now. Its error is that of the snapshot it leaves behind.
func (r *Registry) Refresh(ctx context.Context) error {
	r.polling.Lock()
	defer r.polling.Unlock()
	old := r.Snapshot()
	now := r.look(ctx, old)
	if errors.Is(ctx.Err(), context.Canceled) {
		return fault.As(ctx.Err()) // the caller left, which says nothing of Triton
	}
	r.telling.Lock()
	defer r.telling.Unlock()
	r.snapshot.Store(now)
	if !now.equal(old) {
		r.announce(now, old)
	}
	return now.Err
}

func (r *Registry) watch(ctx context.Context) {
	ticker := time.NewTicker(r.config.Every)
	defer ticker.Stop()
	for {
		// A look that takes longer than this finds a server in trouble.
		look, cancel := context.WithTimeout(ctx, max(2*time.Second, r.config.Every))
		_ = r.Refresh(look)
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look asks Triton. What cannot be learnt stays as it was in the old snapshot.
func (r *Registry) look(ctx context.Context, old *Snapshot) *Snapshot {
	surveyed, err := r.client.survey(ctx, r.surveyed)
	if err != nil {
		r.surveyed = nil
		stale := *old
		stale.Stale, stale.Err = true, err
		return &stale
	}
	r.surveyed = surveyed
	now := &Snapshot{Entries: surveyed.entries, At: time.Now()}
	now.Models = r.models(ctx, surveyed.ready, old)
	now.Sick = make(map[string]string)
	for _, m := range now.Models {
		if reason := r.client.sick(m.Name); reason != "" {
			now.Sick[m.Name] = reason
		}
	}
	return now
}

// Of many models a look describes only those whose turn it is, beside those whose versions have changed: at least
// fewestDescribed, and so many that each has its turn within describedWithin looks. A description is a call, two where
// something has changed, and a look at the files of the model's folder.
const (
	fewestDescribed = 64
	describedWithin = 4
	// describedAtOnce is how many models are asked about at a time.
	describedAtOnce = 32
)

// models describes what is ready, by name: its versions by its name.
func (r *Registry) models(ctx context.Context, ready map[string][]string, old *Snapshot) []*Model {
	names := slices.Sorted(maps.Keys(ready))
	count := max(fewestDescribed, (len(names)+describedWithin-1)/describedWithin)
	found := make([]*Model, len(names))
	var asked sync.WaitGroup
	places := make(chan struct{}, describedAtOnce)
	for i, name := range names {
		before, known := old.Model(name)
		due := (i-r.turn+len(names))%len(names) < count
		if known && !due && slices.Equal(before.Versions, ready[name]) {
			found[i] = before
			continue
		}
		places <- struct{}{}
		asked.Go(func() {
			found[i] = r.model(ctx, name, ready[name], before)
			<-places
		})
	}
	asked.Wait()
	r.turn = (r.turn + count) % max(len(names), 1)
	return slices.DeleteFunc(found, func(m *Model) bool { return m == nil })
}

// model describes one model: as it was before when nothing changed, nil when it has gone since it was listed. before is
// nil for one that is new. Its tensors on the wire follow from its configuration and are asked for when that changes.
func (r *Registry) model(ctx context.Context, name string, versions []string, before *Model) *Model {
	now := &Model{Name: name, Versions: versions}
	now.Dir, now.files = folder(r.config.Repository, name)
	var err error
	if now.Config, err = r.client.ModelConfig(ctx, name, ""); err != nil {
		return unlearnt(before, err)
	}
	if before != nil && before.like(now) {
		return before
	}
	info, err := r.client.ModelMetadata(ctx, name, "")
	if err != nil {
		return unlearnt(before, err)
	}
	now.Inputs = info.Inputs
	now.Outputs = info.Outputs
	r.client.forget(name)
	return now
}

// unlearnt is what is known of a model that could not be described.
func unlearnt(before *Model, err error) *Model {
	if fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return before
}

// announce logs a change and tells the watchers.
func (r *Registry) announce(now, old *Snapshot) {
	for _, m := range now.Models {
		if before, ok := old.Model(m.Name); !ok || before != m {
			r.config.Logger.Info().Str("model", m.Name).Strs("versions", m.Versions).Bool("known", ok).Msg("model is ready")
		}
	}
	for _, m := range old.Models {
		if _, ok := now.Model(m.Name); !ok {
			r.config.Logger.Info().Str("model", m.Name).Msg("model is gone")
		}
	}
	if now.Stale && !old.Stale {
		r.config.Logger.Warn().Err(now.Err).Msg("no Triton answers; what it served is remembered")
	}
	r.mu.Lock()
	watchers := make([]func(*Snapshot), 0, len(r.watchers))
	for id := range r.next {
		if f, ok := r.watchers[id]; ok {
			watchers = append(watchers, f)
		}
	}
	r.mu.Unlock()
	for _, f := range watchers {
		f(now)
	}
}
