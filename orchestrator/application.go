package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"retort/chem"
	"retort/orchestrator/gateway"
	"retort/orchestrator/memory"
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
	a, err := build(env.config, logger, env.stdout)
	if err != nil {
		return err
	}
	defer a.close()
	return a.serve(env.ctx)
}

// application is the running program: what the APIs share, and their gateways.
type application struct {
	config    *Config
	logger    zerolog.Logger
	stdout    io.Writer
	metrics   *telemetry.Metrics
	memory    *memory.Budget
	client    *triton.Client
	registry  *triton.Registry
	gateways  []*gateway.Gateway
	listeners []listener
	secure    *tls.Config

	life     context.Context // of all work; ends after the drain
	end      context.CancelFunc
	draining atomic.Bool
	tracing  func(context.Context) error
}

// listener is a port and the server behind it. Its name is "main" or that of the API to which the port belongs.
type listener struct {
	name   string
	server *gateway.Server
	net.Listener
}

// build makes everything and listens, but answers nothing yet.
func build(config *Config, logger zerolog.Logger, stdout io.Writer) (a *application, err error) {
	a = &application{config: config, logger: logger, stdout: stdout, metrics: telemetry.NewMetrics()}
	a.life, a.end = context.WithCancel(context.Background())
	begun := a // A failure returns nil in its place.
	defer func() {
		if err != nil {
			begun.close()
		}
	}()
	a.memory = memory.NewBudget(config.memoryBudget(), memoryPatience)
	a.tracing, err = telemetry.StartTracing(a.life, logger, config.OTLPEndpoint, config.OTLPProtocol, config.ServiceName, version)
	if err != nil {
		return nil, fmt.Errorf("tracing: %w", err)
	}
	tritonConfig := config.triton()
	tritonConfig.Logger = logger
	a.client, err = triton.Dial(tritonConfig)
	if err != nil {
		return nil, err
	}
	a.registry = triton.NewRegistry(a.client, triton.RegistryConfig{
		Every:      config.Discovery,
		Repository: config.ModelRepository,
		Logger:     logger,
	})
	a.registry.Follow(func(s *triton.Snapshot) { a.metrics.TritonUp(!s.Stale) })
	if err := a.openTLS(); err != nil {
		return nil, err
	}
	if err := a.openGateways(); err != nil {
		return nil, err
	}
	return a, a.listen()
}

// memoryPatience is how long a large request waits for memory before it is refused: long enough for one such request to
// be served.
const memoryPatience = 20 * time.Second

func (a *application) openTLS() error {
	if a.config.TLSCert == "" {
		return nil
	}
	pair, err := readKeyPair(a.config.TLSCert, a.config.TLSKey)
	if err != nil {
		return err
	}
	a.secure = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.get}
	return nil
}

func (a *application) openGateways() error {
	var keys *gateway.Keys
	if a.config.KeysFile != "" {
		var err error
		if keys, err = gateway.ReadKeys(a.config.KeysFile); err != nil {
			return fmt.Errorf("keys-file: %w", err)
		}
	}
	for _, s := range services {
		g, err := gateway.New(a.life, s.open(a), a.draining.Load, gateway.Options{
			Config:      s.limits(a.config),
			Keys:        keys,
			Memory:      a.memory,
			CORSOrigins: a.config.CORSOrigins,
			Version:     version,
			Logger:      a.logger,
			Metrics:     a.metrics,
		})
		if err != nil {
			return err
		}
		a.gateways = append(a.gateways, g)
	}
	return nil
}

// listen opens the main port and each API's own.
func (a *application) listen() error {
	if err := a.open("main", a.front(), a.config.Port); err != nil {
		return err
	}
	for i, s := range services {
		limits := s.limits(a.config)
		if limits.Port == 0 {
			continue
		}
		if err := a.open(s.name, a.gateways[i].Handler(), limits.Port); err != nil {
			return err
		}
	}
	return nil
}

func (a *application) open(name string, handler fasthttp.RequestHandler, port int) error {
	opened, err := net.Listen("tcp", net.JoinHostPort(a.config.Host, strconv.Itoa(max(port, 0))))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	server := gateway.NewServer(handler, gateway.ServerConfig{
		MaxConnections: a.config.MaxConnections,
		WriteTimeout:   a.config.WriteTimeout,
		TLS:            a.secure,
	})
	a.listeners = append(a.listeners, listener{name: name, server: server, Listener: opened})
	return nil
}

// serve answers on all ports until ctx ends, then drains: readiness is refused, then new connections, then what is
// under way has its time to end.
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
	time.Sleep(a.config.DrainDelay)
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
	for _, l := range a.listeners {
		l.Close()
	}
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

// localClient asks this very program, whose certificate is for another name.
func localClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // loopback probe
	}}
}
