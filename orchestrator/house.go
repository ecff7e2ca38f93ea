package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/rs/zerolog"

	"retort/chem"
	"retort/orchestrator/gateway"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
)

type serveCommand struct{}

// Run serves until the context ends, then drains.
func (serveCommand) Run(env *environment) error {
	logger, err := telemetry.NewLogger(env.stdout, env.config.LogLevel, env.config.LogFormat)
	if err != nil {
		return err
	}
	h, err := build(env.config, logger, env.stdout)
	if err != nil {
		return err
	}
	defer h.close()
	return h.serve(env.ctx)
}

// house is the running program: what the APIs share, and their gateways.
type house struct {
	config   *Config
	logger   zerolog.Logger
	stdout   io.Writer
	metrics  *telemetry.Metrics
	client   *triton.Client
	registry *triton.Registry
	gateways []*gateway.Gateway
	doors    []door
	secure   *tls.Config

	life     context.Context // of all work; ends after the drain
	end      context.CancelFunc
	draining atomic.Bool
	tracing  func(context.Context) error
}

// door is a listener and the app behind it.
type door struct {
	name     string
	app      *fiber.App
	listener net.Listener
}

// build makes everything and listens, but answers nothing yet.
func build(config *Config, logger zerolog.Logger, stdout io.Writer) (h *house, err error) {
	h = &house{config: config, logger: logger, stdout: stdout, metrics: telemetry.NewMetrics()}
	h.life, h.end = context.WithCancel(context.Background())
	begun := h // A failure returns nil in its place.
	defer func() {
		if err != nil {
			begun.close()
		}
	}()
	h.tracing, err = telemetry.StartTracing(h.life, logger, config.OTLPEndpoint, config.OTLPProtocol, config.ServiceName, version)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	h.client, err = triton.Dial(triton.Config{
		URLs: config.TritonURL, TLS: triton.TLS{Enabled: config.TritonTLS, CA: config.TritonCA}, Logger: logger,
	})
	if err != nil {
		return nil, err
	}
	h.registry = triton.NewRegistry(h.client, triton.RegistryConfig{
		Every: config.Discovery, Repository: config.ModelRepository, Logger: logger,
	})
	h.registry.Follow(func(s *triton.Snapshot) { h.metrics.TritonUp(!s.Stale) })
	if err := h.openTLS(); err != nil {
		return nil, err
	}
	if err := h.openGateways(); err != nil {
		return nil, err
	}
	return h, h.listen()
}

func (h *house) openTLS() error {
	if h.config.TLSCert == "" {
		return nil
	}
	pair, err := readKeyPair(h.config.TLSCert, h.config.TLSKey)
	if err != nil {
		return err
	}
	h.secure = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.get}
	return nil
}

func (h *house) openGateways() error {
	var keys *gateway.Keys
	if h.config.KeysFile != "" {
		var err error
		if keys, err = gateway.ReadKeys(h.config.KeysFile); err != nil {
			return fmt.Errorf("keys-file: %w", err)
		}
	}
	for _, s := range services {
		limits := s.limits(h.config)
		g, err := gateway.New(h.life, s.open(h), h.draining.Load, gateway.Options{
			Config: limits, Keys: keys, CORSOrigins: h.config.CORSOrigins, Version: version, Logger: h.logger, Metrics: h.metrics,
		})
		if err != nil {
			return err
		}
		h.gateways = append(h.gateways, g)
	}
	return nil
}

// listen opens the main port and each API's own.
func (h *house) listen() error {
	if err := h.open("main", h.front(), h.config.Port); err != nil {
		return err
	}
	for i, s := range services {
		limits := s.limits(h.config)
		if limits.Port == 0 {
			continue
		}
		if err := h.open(s.name, h.gateways[i].App(), limits.Port); err != nil {
			return err
		}
	}
	return nil
}

func (h *house) open(name string, app *fiber.App, port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(h.config.Host, strconv.Itoa(max(port, 0))))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	h.doors = append(h.doors, door{name, app, listener})
	return nil
}

// serve answers on all doors until ctx ends, then drains: readiness is
// refused, then new connections, then what is under way has its time to end.
func (h *house) serve(ctx context.Context) error {
	go func() { // beside the first requests, of which most need no chemistry
		if err := chem.Warm(); err != nil {
			h.logger.Error().Err(err).Msg("chemistry is not ready")
		}
	}()
	failed := make(chan error, len(h.doors))
	var serving sync.WaitGroup
	for _, d := range h.doors {
		listener := d.listener
		if h.secure != nil {
			listener = tls.NewListener(listener, h.secure)
		}
		serving.Go(func() {
			if err := d.app.Listener(listener); err != nil && !errors.Is(err, net.ErrClosed) {
				failed <- fmt.Errorf("%s: %w", d.name, err)
			}
		})
		h.logger.Info().Str("door", d.name).Stringer("address", d.listener.Addr()).Msg("listening")
	}
	if h.config.Welcome {
		h.welcome()
	}
	var err error
	select {
	case <-ctx.Done():
		h.logger.Info().Msg("draining")
	case err = <-failed:
	}
	h.drain()
	serving.Wait()
	h.logger.Info().Msg("stopped")
	return err
}

func (h *house) drain() {
	h.draining.Store(true)
	time.Sleep(h.config.DrainDelay)
	var ending sync.WaitGroup
	for _, d := range h.doors {
		ending.Go(func() {
			if err := d.app.ShutdownWithTimeout(h.config.DrainTimeout); err != nil {
				h.logger.Warn().Err(err).Str("door", d.name).Msg("requests were cut off")
			}
		})
	}
	ending.Wait()
	h.end()
}

// close frees what build made; it may be called after a failed build.
func (h *house) close() {
	h.end()
	for _, d := range h.doors {
		d.listener.Close()
	}
	if h.registry != nil {
		h.registry.Close()
	}
	if h.client != nil {
		h.client.Close()
	}
	if h.tracing != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = h.tracing(ctx) // the collector may be gone; nothing is lost but spans
	}
}

// localClient asks this very program, whose certificate is for another name.
func localClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // loopback probe
	}}
}
