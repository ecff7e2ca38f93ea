package triton

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
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
	entries, err := r.client.Index(ctx)
	if err != nil {
		stale := *old
		stale.Stale, stale.Err = true, err
		return &stale
	}
	now := &Snapshot{Entries: entries, At: time.Now()}
	ready := readyVersions(entries)
	found := make([]*Model, 0, len(ready))
	var mu sync.Mutex
	var asked sync.WaitGroup
	for name, versions := range ready {
		asked.Go(func() {
			if m := r.model(ctx, name, versions, old); m != nil {
				mu.Lock()
				found = append(found, m)
				mu.Unlock()
			}
		})
	}
	asked.Wait()
	slices.SortFunc(found, func(a, b *Model) int { return strings.Compare(a.Name, b.Name) })
	now.Models = found
	now.Sick = make(map[string]string)
	for _, m := range found {
		if reason := r.client.sick(m.Name); reason != "" {
			now.Sick[m.Name] = reason
		}
	}
	return now
}

// model describes one model: the old description itself when nothing changed, nil when the model has gone since it was
// listed.
func (r *Registry) model(ctx context.Context, name string, versions []string, old *Snapshot) *Model {
	before, _ := old.Model(name)
	config, err := r.client.ModelConfig(ctx, name, "")
	var info ModelInfo
	if err == nil {
		info, err = r.client.ModelMetadata(ctx, name, "")
	}
	if err != nil {
		if fault.KindOf(err) == fault.NotFound || before == nil {
			return nil
		}
		return before
	}
	now := &Model{Name: name, Versions: versions, Config: config, Inputs: info.Inputs, Outputs: info.Outputs}
	now.Dir, now.files = folder(r.config.Repository, name)
	if before != nil && reflect.DeepEqual(before, now) {
		return before
	}
	r.client.forget(name)
	return now
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
