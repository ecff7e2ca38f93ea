package main

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"retort/chem"
	"retort/orchestrator/memory"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/unfinished"
)

type serveCommand struct{}

// Run serves until the context ends, then drains.
func (serveCommand) Run(env *environment) error {
	memory.Collect()
	logger, err := telemetry.NewLogger(env.stdout, env.config.LogLevel, env.config.logFormat())
	if err != nil {
		return err
	}
	a, err := build(env.config, logger, env.stdout)
	if err != nil {
		return err
	}
	defer a.close()
	return a.serve(env.ctx)
}

// serve answers on all ports until ctx ends, then drains: readiness is refused, then new connections, then what is
// under way has its time to end, at last with what it has found so far.
func (a *application) serve(ctx context.Context) error {
	go func() { // beside the first requests, of which few need chemistry
		if err := chem.Warm(); err != nil {
			a.logger.Error().Err(err).Msg("chemistry is not ready")
		}
	}()
	failed := make(chan error, len(a.listeners))
	var serving sync.WaitGroup
	for _, l := range a.listeners {
		serving.Go(func() {
			if err := l.server.Serve(l.Listener); err != nil {
				failed <- fmt.Errorf("%s: %w", l.name, err)
			}
		})
		a.logger.Info().Str("listener", l.name).Stringer("address", l.Addr()).Msg("listening")
	}
	a.warnOfOpenPorts()
	if a.config.Welcome {
		a.welcome()
	}
	var err error
	select {
	case <-ctx.Done():
		a.logger.Info().Msg("draining")
	case err = <-failed:
	}
	a.drain()
	serving.Wait()
	a.logger.Info().Msg("stopped")
	return err
}

// openToAll says that whoever reaches this machine may call the APIs.
func (a *application) openToAll() bool {
	ip := net.ParseIP(a.config.Host)
	return a.config.KeysFile == "" && ip != nil && ip.IsUnspecified()
}

func (a *application) warnOfOpenPorts() {
	if a.openToAll() {
		a.logger.Warn().Str("host", a.config.Host).Msg("every network can reach the ports and no key is asked for: see --host and --keys-file")
	}
}

func (a *application) drain() {
	a.draining.Store(true)
	for _, l := range a.listeners {
		l.server.Leave()
	}
	a.jobs.stopWork()
	time.Sleep(a.config.DrainDelay)
	stop := time.AfterFunc(a.config.DrainTimeout-unfinished.Reserve(a.config.DrainTimeout), a.stop)
	defer stop.Stop()
	var ending sync.WaitGroup
	for _, l := range a.listeners {
		ending.Go(func() {
			if err := l.server.Shutdown(a.config.DrainTimeout); err != nil {
				a.logger.Warn().Err(err).Str("listener", l.name).Msg("requests were cut off")
			}
		})
	}
	ending.Wait()
	a.end()
}

// close frees what build made; it may be called after a failed build.
func (a *application) close() {
	a.end()
	a.stop()
	for _, l := range a.listeners {
		l.Close()
	}
	a.jobs.close()
	if a.registry != nil {
		a.registry.Close()
	}
	if a.client != nil {
		a.client.Close()
	}
	if a.tracing != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = a.tracing(ctx) // the collector may be gone; nothing is lost but spans
	}
}
