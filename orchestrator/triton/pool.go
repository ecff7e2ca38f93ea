package triton

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// pool keeps the replicas: it looks addresses up, probes, and picks one for each call. gRPC's own balancers are not
// used because a second try must go to another replica, models are loaded on every one of them, and Triton does not
// implement the Watch method of grpc.health.v1 that gRPC's health check needs.
type pool struct {
	config  Config
	targets []target

	mu       sync.Mutex // held while the list changes
	found    [][]string // the addresses of each target when it was last looked up
	replicas atomic.Pointer[[]*Replica]
	turn     atomic.Uint64

	wake   chan struct{} // a call failed: probe now
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func newPool(c Config) (*pool, error) {
	p := &pool{config: c, wake: make(chan struct{}, 1)}
	p.replicas.Store(&[]*Replica{})
	for _, url := range c.URLs {
		t, err := parse(url)
		if err != nil {
			return nil, err
		}
		p.targets = append(p.targets, t)
	}
	p.found = make([][]string, len(p.targets))
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel = cancel
	first, stop := context.WithTimeout(ctx, p.config.ProbeTimeout)
	defer stop()
	if err := p.resolve(first); err != nil {
		p.close()
		return nil, err
	}
	p.done.Go(func() { p.watch(ctx) })
	return p, nil
}

// watch probes and resolves until ctx ends.
func (p *pool) watch(ctx context.Context) {
	probe := time.NewTicker(p.config.ProbeEvery)
	resolve := time.NewTicker(p.config.ResolveEvery)
	defer probe.Stop()
	defer resolve.Stop()
	p.probe(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-resolve.C:
			p.lookup(ctx)
		case <-p.wake:
			p.probe(ctx)
		case <-probe.C:
			if len(p.live()) == 0 {
				p.lookup(ctx) // the servers may have moved
			}
			p.probe(ctx)
		}
	}
}

// lookup resolves in bounded time.
func (p *pool) lookup(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, p.config.ProbeTimeout)
	defer cancel()
	if err := p.resolve(ctx); err != nil {
		p.config.Logger.Error().Err(err).Msg("a Triton replica cannot be dialled")
	}
}

// resolve makes the list of replicas that of the addresses, each of them once. A name that cannot be looked up keeps
// the replicas it had: the resolver may be what is broken. The error is one of settings.
func (p *pool) resolve(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := make(map[string]*Replica)
	for _, r := range *p.replicas.Load() {
		old[r.address] = r
	}
	var now []*Replica
	listed := make(map[string]bool)
	for i, t := range p.targets {
		addresses, err := t.addresses(ctx)
		if err != nil {
			p.config.Logger.Warn().Err(err).Str("name", t.host).Msg("Triton's name cannot be looked up")
			addresses = p.found[i]
		}
		p.found[i] = addresses
		for _, address := range addresses {
			if listed[address] {
				continue
			}
			listed[address] = true
			r := old[address]
			if r == nil {
				if r, err = dial(address, t, p.config); err != nil {
					return err
				}
			}
			delete(old, address)
			now = append(now, r)
		}
	}
	p.replicas.Store(&now)
	for _, r := range old {
		p.config.Logger.Info().Str("replica", r.address).Msg("Triton replica removed")
		go r.retire()
	}
	return nil
}

// probe asks every replica that is not being asked already. It does not wait: a dead one takes its time to answer, the
// others must not.
func (p *pool) probe(ctx context.Context) {
	for _, r := range *p.replicas.Load() {
		if r.probing.CompareAndSwap(false, true) {
			p.done.Go(func() {
				defer r.probing.Store(false)
				p.probeOne(ctx, r)
			})
		}
	}
}

func (p *pool) probeOne(ctx context.Context, r *Replica) {
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

// suspect asks for a probe now; it does not wait for it.
func (p *pool) suspect() {
	select {
	case p.wake <- struct{}{}:
	default: // one is asked for already
	}
}

// pick returns the live replica with the fewest calls in flight among those that serve the model, leaving one out; nil
// when none lives. Equal ones take turns, unless the call is steady: then it is always the same one of those that serve
// the model, whatever the order in which DNS gives their addresses, so that repeated questions are answered by one replica
// while models change on one after the other. Which one that is differs from model to model: the questions about all
// models of all gateways are spread over the replicas (rendezvous hashing).
func (p *pool) pick(q question, except *Replica) *Replica {
	replicas := *p.replicas.Load()
	var best *Replica
	var bestRank int
	var bestLoad int64
	start := uint64(0)
	if !q.steady {
		start = p.turn.Add(1)
	}
	for i := range replicas {
		r := replicas[(uint64(i)+start)%uint64(len(replicas))]
		rank := r.rank(q.model, q.inference)
		load := r.inflight.Load()
		if q.steady {
			load = int64(r.weight(q.model))
		}
		if r == except || rank == 2 {
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

// live returns the replicas that answer.
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
	p.done.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range *p.replicas.Load() {
		_ = r.conn.Close()
	}
	p.replicas.Store(&[]*Replica{})
}
