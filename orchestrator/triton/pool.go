package triton

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pool resolves addresses, probes replicas, and picks a replica for each call. It does not use the balancers of gRPC,
// since a retry must go to another replica and each replica has its own set of models, and since Triton does not
// implement the Watch method of grpc.health.v1 that gRPC's health checks need.
type pool struct {
	config  Config
	targets []target

	mu       sync.Mutex // held while replicas changes; guards resolved
	resolved [][]string // addresses of each target, as looked up last
	replicas atomic.Pointer[[]*Replica]
	rotation atomic.Uint64

	probeNow   chan struct{}
	cancel     context.CancelFunc
	goroutines sync.WaitGroup
}

func newPool(c Config) (*pool, error) {
	p := &pool{config: c, probeNow: make(chan struct{}, 1)}
	p.replicas.Store(&[]*Replica{})
	for _, url := range c.URLs {
		t, err := parse(url)
		if err != nil {
			return nil, err
		}
		p.targets = append(p.targets, t)
	}
	p.resolved = make([][]string, len(p.targets))
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	resolveCtx, stop := context.WithTimeout(ctx, p.config.ProbeTimeout)
	defer stop()
	if err := p.resolve(resolveCtx); err != nil {
		p.close()
		return nil, err
	}
	p.goroutines.Go(func() { p.run(ctx) })
	return p, nil
}

// run probes and resolves until ctx ends.
func (p *pool) run(ctx context.Context) {
	probeTicker := time.NewTicker(p.config.ProbeEvery)
	resolveTicker := time.NewTicker(p.config.ResolveEvery)
	defer probeTicker.Stop()
	defer resolveTicker.Stop()
	p.probe(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-resolveTicker.C:
			p.resolveLogged(ctx)
		case <-p.probeNow:
			p.probe(ctx)
		case <-probeTicker.C:
			if len(p.live()) == 0 {
				p.resolveLogged(ctx) // the servers may have moved
			}
			p.probe(ctx)
		}
	}
}

// resolveLogged resolves within ProbeTimeout and logs an error.
func (p *pool) resolveLogged(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.config.ProbeTimeout)
	defer cancel()
	if err := p.resolve(ctx); err != nil {
		p.config.Logger.Error().Err(err).Msg("a Triton replica cannot be dialled")
	}
}

// resolve looks up all targets and updates the replicas, one for each distinct address. If a name cannot be looked up,
// its replicas stay, since the resolver may be at fault. An error means that the Config is invalid.
func (p *pool) resolve(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := make(map[string]*Replica)
	for _, r := range *p.replicas.Load() {
		old[r.address] = r
	}
	var replicas []*Replica
	added := make(map[string]bool)
	for i, t := range p.targets {
		addresses, err := t.addresses(ctx)
		if err != nil {
			p.config.Logger.Warn().Err(err).Str("name", t.host).Msg("Triton's name cannot be looked up")
			addresses = p.resolved[i]
		}
		p.resolved[i] = addresses
		for _, address := range addresses {
			if added[address] {
				continue
			}
			added[address] = true
			r := old[address]
			if r == nil {
				if r, err = dial(address, t, p.config); err != nil {
					return err
				}
			}
			delete(old, address)
			replicas = append(replicas, r)
		}
	}
	p.replicas.Store(&replicas)
	for _, r := range old {
		p.config.Logger.Info().Str("replica", r.address).Msg("Triton replica removed")
		go r.retire()
	}
	return nil
}

// probe starts a probe of every replica that has none running. It does not wait, since a dead replica takes long to
// answer.
func (p *pool) probe(ctx context.Context) {
	for _, r := range *p.replicas.Load() {
		if r.probing.CompareAndSwap(false, true) {
			p.goroutines.Go(func() {
				defer r.probing.Store(false)
				p.probeReplica(ctx, r)
			})
		}
	}
}

// probeReplica probes a replica, and then its models.
func (p *pool) probeReplica(ctx context.Context, r *Replica) {
	defer p.probeModels(ctx, r)
	if !r.probe(ctx, p.config.ProbeTimeout) || ctx.Err() != nil {
		return
	}
	if reason := r.down.Load(); reason != nil {
		p.config.Logger.Warn().Str("replica", r.address).Str("reason", *reason).Msg("Triton replica left out")
	} else {
		p.config.Logger.Info().Str("replica", r.address).Msg("Triton replica is back")
	}
}

// requestProbe has all replicas probed now. It does not wait.
func (p *pool) requestProbe() {
	select {
	case p.probeNow <- struct{}{}:
	default: // already requested
	}
}

// pick returns the best replica for a call, leaving out except, or nil if no replica is live. Replicas that serve the
// model come first, then those with the fewest calls in flight; equal ones take turns.
//
// A sticky call goes to the same replica each time, whatever the order of addresses from DNS, so that repeated queries
// see one state while models are replaced on one replica after the other. The replica depends on the model (rendezvous
// hashing), which spreads the queries of all gateways.
func (p *pool) pick(spec callSpec, except *Replica) *Replica {
	replicas := *p.replicas.Load()
	var best *Replica
	var bestRank rank
	var bestLoad int64
	start := uint64(0)
	if !spec.sticky {
		start = p.rotation.Add(1)
	}
	for i := range replicas {
		r := replicas[(uint64(i)+start)%uint64(len(replicas))]
		load := r.inflight.Load()
		if spec.sticky {
			load = int64(r.stickyHash(spec.model))
		}
		if r == except || best != nil && bestRank == rankServes && load >= bestLoad {
			continue // it cannot be better, whatever its rank is
		}
		rank := r.rank(spec.model, spec.inference)
		if rank == rankUnusable {
			continue
		}
		if best == nil || rank < bestRank || (rank == bestRank && load < bestLoad) {
			best = r
			bestRank = rank
			bestLoad = load
		}
	}
	return best
}

// live returns the live replicas.
func (p *pool) live() []*Replica {
	var live []*Replica
	for _, r := range *p.replicas.Load() {
		if r.down.Load() == nil {
			live = append(live, r)
		}
	}
	return live
}

func (p *pool) close() {
	p.cancel()
	p.goroutines.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range *p.replicas.Load() {
		_ = r.conn.Close()
	}
	p.replicas.Store(&[]*Replica{})
}
