package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"retort/chem"
	"retort/orchestrator/command"
	"retort/orchestrator/gateway/httpserver"
	"retort/orchestrator/memory"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/unfinished"
)

type serveCommand struct{}

// Run serves until SIGINT or SIGTERM, then drains.
func (serveCommand) Run(p *command.Process, config *Config) error {
	memory.TuneGC()
	logger, err := telemetry.NewLogger(p.Stdout, config.LogLevel, config.logFormat())
	if err != nil {
		return err
	}
	s, err := newServer(config, logger)
	if err != nil {
		return err
	}
	defer s.close()
	return s.serve(p.Context, p.Stdout)
}

// server serves an application on its ports.
type server struct {
	*application
	tls       *tls.Config // nil if the ports do not speak TLS
	listeners []listener  // the main port first
}

// listener is a port. Its name is "main", the name of the API that has the port for itself, or the name of an API with
// grpcSuffix.
type listener struct {
	name   string
	server portServer
	net.Listener
}

// portServer answers on a port: an httpserver.Server or a teigrpc.Server.
type portServer interface {
	// Serve answers on a listener until Shutdown.
	Serve(net.Listener) error
	// Leave makes clients leave, before the port closes.
	Leave()
	// Shutdown waits until the requests in flight have ended. The error says that the timeout has cut some off.
	Shutdown(timeout time.Duration) error
}

// newServer opens everything and listens, but answers no request yet. It fails on a wrong setting, a port in use or an
// unreadable file.
func newServer(config *Config, logger zerolog.Logger) (*server, error) {
	a, err := openApplication(config, logger)
	if err != nil {
		return nil, err
	}
	s := &server{application: a}
	if err := s.listen(); err != nil {
		s.close()
		return nil, err
	}
	go s.files.Run(s.ctx)
	return s, nil
}

// listen opens the main port and the ports of the APIs.
func (s *server) listen() error {
	certificate, err := s.config.certificate()
	if err != nil {
		return err
	}
	if certificate != nil {
		s.files.Add("tls-cert", certificate.Reload, s.config.TLSCert, s.config.TLSKey)
		s.tls = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.Get(), nil },
		}
	}
	main, err := s.mainHandler()
	if err != nil {
		return err
	}
	if err := s.listenOn("main", s.config.Port, main); err != nil {
		return err
	}
	for i, service := range services {
		port := service.limits(s.config).Port
		if port == 0 {
			continue
		}
		if err := s.listenOn(service.name, port, s.withJobs(service.name, s.gateways[i].Handler())); err != nil {
			return err
		}
	}
	return s.listenGRPC()
}

func (s *server) listenOn(name string, portNumber int, handler fasthttp.RequestHandler) error {
	return s.open(name, portNumber, httpserver.New(handler, httpserver.Config{
		MaxConnections: s.config.MaxConnections,
		WriteTimeout:   s.config.WriteTimeout,
		ConnectionAge:  s.config.ConnectionAge,
		TLS:            s.tls,
		Name:           name,
		Logger:         s.logger,
		Metrics:        s.metrics,
	}))
}

// open listens on a port.
func (s *server) open(name string, portNumber int, port portServer) error {
	l, err := net.Listen("tcp", net.JoinHostPort(s.config.Host, strconv.Itoa(max(portNumber, 0))))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	s.listeners = append(s.listeners, listener{name: name, server: port, Listener: l})
	return nil
}

// serve answers on all ports until ctx is done, then drains. It writes the welcome to w if the settings ask for it.
func (s *server) serve(ctx context.Context, w io.Writer) error {
	go func() { // does not delay the first requests, few of which need chemistry
		if err := chem.Warm(); err != nil {
			s.logger.Error().Err(err).Msg("chemistry is not ready")
		}
	}()
	failed := make(chan error, len(s.listeners))
	var serving sync.WaitGroup
	for _, l := range s.listeners {
		serving.Go(func() {
			if err := l.server.Serve(l.Listener); err != nil {
				failed <- fmt.Errorf("%s: %w", l.name, err)
			}
		})
		s.logger.Info().Str("listener", l.name).Stringer("address", l.Addr()).Msg("listening")
	}
	if s.config.openToAll() {
		s.logger.Warn().Str("host", s.config.Host).
			Msg("every network can reach the ports and no key is required: see --host and --keys-file")
	}
	if s.config.Welcome {
		fmt.Fprint(w, s.welcome())
	}
	var err error
	select {
	case <-ctx.Done():
		s.logger.Info().Msg("draining")
	case err = <-failed:
	}
	s.drain()
	serving.Wait()
	s.logger.Info().Msg("stopped")
	return err
}

// drain refuses readiness, then new connections, and gives the requests in flight time to end. Shortly before that time
// is over, searches answer with what they have found.
func (s *server) drain() {
	s.draining.Store(true)
	for _, l := range s.listeners {
		l.server.Leave()
	}
	s.jobs.stopWorkers()
	time.Sleep(s.config.DrainDelay)
	untilSearchesEnd := s.config.DrainTimeout - unfinished.Reserve(s.config.DrainTimeout)
	timer := time.AfterFunc(untilSearchesEnd, s.cancelSearches)
	defer timer.Stop()
	var shutdowns sync.WaitGroup
	for _, l := range s.listeners {
		shutdowns.Go(func() {
			if err := l.server.Shutdown(s.config.DrainTimeout); err != nil {
				s.logger.Warn().Err(err).Str("listener", l.name).Msg("requests were cut off")
			}
		})
	}
	shutdowns.Wait()
	s.cancel()
}

func (s *server) close() {
	s.cancel()
	for _, l := range s.listeners {
		l.Close()
	}
	s.application.close()
}

// welcome lists the addresses of all APIs and pages, and a request to try.
func (s *server) welcome() string {
	var b strings.Builder
	main := s.url(s.listeners[0])
	fmt.Fprintf(&b, "\n  Retort %s is listening.\n\n", version)
	fmt.Fprintf(&b, "  %-26s %s/\n", "Web page", main)
	for _, service := range services {
		base := main + "/" + service.name
		for _, l := range s.listeners {
			if l.name == service.name {
				base = s.url(l)
			}
		}
		fmt.Fprintf(&b, "  %-26s %-28s docs: %s/docs\n", service.title, base, base)
	}
	fmt.Fprintf(&b, "\n  Try:\n  curl %s/embedding/v1/embeddings -H 'Content-Type: application/json' \\\n", main)
	const body = `{"model": "retort/minilm-embedqa-v2", "input": ["What eases pain?"], "input_type": "query"}`
	fmt.Fprintf(&b, "       -d '%s'", body)
	b.WriteString("\n\n  Stop with Ctrl-C.\n\n")
	return b.String()
}

// url returns a listener's URL for a client on this machine.
func (s *server) url(l listener) string {
	scheme := "http"
	if s.tls != nil {
		scheme = "https"
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if ip := net.ParseIP(host); err == nil && (ip == nil || ip.IsUnspecified()) {
		host = "localhost"
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}
