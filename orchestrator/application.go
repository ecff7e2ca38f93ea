package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"retort/orchestrator/gateway"
	"retort/orchestrator/memory"
	"retort/orchestrator/oracle"
	"retort/orchestrator/priority"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
)

// application is the running program: what the APIs share, and their gateways.
type application struct {
	config   *Config
	logger   zerolog.Logger
	stdout   io.Writer
	metrics  *telemetry.Metrics
	memory   *memory.Budget
	client   *triton.Client
	registry *triton.Registry
	keys     *gateway.Keys // nil: none is asked for
	oracles  *oracle.Oracles
	gateways []*gateway.Gateway
	mcp      *gateway.Gateway // nil where it is switched off
	batches  *gateway.Gateway // files and batches
	page     *gateway.Gateway // what the page for people asks beside the APIs
	gate     *priority.Gate   // requests of clients go before work that nobody waits for
	jobs     jobs
	// optimizations are the jobs of the molecule APIs, by API; nil where jobs are switched off.
	optimizations map[string]*gateway.Gateway
	listeners     []listener
	secure        *tls.Config
	files         fileWatch // of keys and certificate

	life     context.Context // of all work; ends after the drain
	end      context.CancelFunc
	stopping context.Context // of work that can end with what it has found; ends a little before life
	stop     context.CancelFunc
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
	a = &application{config: config, logger: logger, stdout: stdout, metrics: telemetry.NewMetrics(), files: fileWatch{logger: logger}}
	a.life, a.end = context.WithCancel(context.Background())
	a.stopping, a.stop = context.WithCancel(context.Background())
	begun := a // A failure returns nil in its place.
	defer func() {
		if err != nil {
			begun.close()
		}
	}()
	a.gate = priority.NewGate(config.Batch.Concurrency)
	a.metrics.BackgroundLevel(a.gate.Level)
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
		QueueDelay: config.queueDelay(),
		Logger:     logger,
	})
	a.registry.Follow(func(s *triton.Snapshot) { a.metrics.TritonUp(!s.Stale) })
	a.openOracles()
	if err := a.openTLS(); err != nil {
		return nil, err
	}
	if err := a.openGateways(); err != nil {
		return nil, err
	}
	go a.files.run(a.life)
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
	a.files.add("tls-cert", pair.reload, a.config.TLSCert, a.config.TLSKey)
	a.secure = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.get}
	return nil
}

func (a *application) openGateways() error {
	var err error
	if a.keys, err = a.config.keys(); err != nil {
		return err
	}
	if a.keys != nil {
		a.files.add("keys-file", a.keys.Reload, a.config.KeysFile)
	}
	for _, s := range services {
		g, err := gateway.New(a.life, s.open(a), a.draining.Load, a.options(s.limits(a.config)))
		if err != nil {
			return err
		}
		a.gateways = append(a.gateways, g)
	}
	if err := a.openMCP(); err != nil {
		return err
	}
	if err := a.openPage(); err != nil {
		return err
	}
	if err := a.openBatches(); err != nil {
		return err
	}
	if err := a.openOptimizations(); err != nil {
		return err
	}
	return a.openJobs()
}

// options are those of a gateway with these limits.
func (a *application) options(limits gateway.Config) gateway.Options {
	return gateway.Options{
		Config:      limits,
		Keys:        a.keys,
		Memory:      a.memory,
		Stopping:    a.stopping,
		CORSOrigins: a.config.CORSOrigins,
		Version:     version,
		Logger:      a.logger,
		Metrics:     a.metrics,
		Interactive: a.gate.Request,
	}
}

// gateway is that of an API.
func (a *application) gateway(api string) (*gateway.Gateway, bool) {
	at := slices.IndexFunc(services, func(s service) bool { return s.name == api })
	if at < 0 {
		return nil, false
	}
	return a.gateways[at], true
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
		if err := a.open(s.name, a.withJobs(s.name, a.gateways[i].Handler()), limits.Port); err != nil {
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
		ConnectionAge:  a.config.ConnectionAge,
		TLS:            a.secure,
		Name:           name,
		Logger:         a.logger,
		Metrics:        a.metrics,
	})
	a.listeners = append(a.listeners, listener{name: name, server: server, Listener: opened})
	return nil
}
