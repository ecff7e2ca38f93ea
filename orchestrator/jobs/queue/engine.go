package queue

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Engine is a connection to JetStream, and the server itself if that is embedded.
type Engine struct {
	config   Config
	logger   zerolog.Logger
	conn     *nats.Conn
	js       jetstream.JetStream
	embedded *embeddedServer // nil: a cluster
	stop     context.CancelFunc

	clusterBytes atomic.Int64 // stored in the cluster: the last count, and those written since
	lastCount    atomic.Int64 // bytes stored in the cluster
}

const (
	requestTimeout = 10 * time.Second // of one exchange with JetStream
	// readTimeout bounds one try of a read: a request to a node that has stopped since is never answered.
	readTimeout      = 3 * time.Second
	reconnectTimeout = 5 * time.Second // of AwaitReady
)

// Open starts the embedded server, or connects to the cluster, which may take seconds for each of its addresses. An
// error may be temporary: a cluster that does not answer yet, or a folder that another process still holds.
func Open(ctx context.Context, config Config, logger zerolog.Logger) (*Engine, error) {
	e := &Engine{config: config, logger: logger.With().Str("part", "jobs").Logger(), stop: func() {}}
	options := []nats.Option{
		nats.Name("retort"), nats.MaxReconnects(-1), nats.Timeout(requestTimeout), nats.ReconnectBufSize(-1),
	}
	address := nats.DefaultURL
	dial := &dialer{opening: ctx}
	if len(config.Cluster.URL) == 0 {
		var err error
		if e.embedded, err = startEmbedded(config.Folder, e.logger); err != nil {
			return nil, err
		}
		options = append(options, nats.InProcessServer(e.embedded.server))
	} else {
		address = strings.Join(config.Cluster.URL, ",")
		options = append(options, config.Cluster.options()...)
		options = append(options, nats.SetCustomDialer(dial))
	}
	var err error
	if e.conn, err = nats.Connect(address, options...); err != nil {
		e.Close()
		return nil, fmt.Errorf("NATS: %w", err)
	}
	dial.opened.Store(true)
	e.js, err = jetstream.New(e.conn, jetstream.WithDefaultTimeout(requestTimeout))
	if err != nil {
		e.Close()
		return nil, err
	}
	if e.embedded == nil {
		var life context.Context
		life, e.stop = context.WithCancel(context.Background())
		go e.countRepeatedly(life)
	} else {
		e.warnIfFull()
	}
	return e, nil
}

// dialer connects to the nodes of a cluster. The context of Open cancels the first connections, not later ones.
type dialer struct {
	opening context.Context
	opened  atomic.Bool
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	ctx := d.opening
	if d.opened.Load() {
		ctx = context.Background()
	}
	dial := net.Dialer{Timeout: requestTimeout}
	return dial.DialContext(ctx, network, address)
}

func (c Cluster) options() (options []nats.Option) {
	if c.Creds != "" {
		options = append(options, nats.UserCredentials(c.Creds))
	}
	if c.CA != "" {
		options = append(options, nats.RootCAs(c.CA))
	}
	if c.Cert != "" {
		options = append(options, nats.ClientCert(c.Cert, c.Key))
	}
	return options
}

// Ready returns nil while the engine answers.
func (e *Engine) Ready() error {
	if !e.conn.IsConnected() {
		return errors.New("NATS is not connected")
	}
	if e.embedded != nil {
		return e.embedded.ready()
	}
	return nil
}

// AwaitReady is Ready for a caller that can wait some seconds: when a node of a cluster stops, its gateways take a
// moment to connect to another one.
func (e *Engine) AwaitReady(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, reconnectTimeout)
	defer stop()
	for {
		err := e.Ready()
		if err == nil || e.embedded != nil || ctx.Err() != nil {
			return err
		}
		Sleep(ctx, 20*time.Millisecond)
	}
}

// Close ends the connection and the embedded server. Tasks in flight are delivered again later.
func (e *Engine) Close() {
	e.stop()
	if e.conn != nil {
		_ = e.conn.FlushTimeout(time.Second) // the last acknowledgements of workers
		e.conn.Close()
	}
	if e.embedded != nil {
		e.embedded.stop()
	}
}

// Every calls do after each interval until ctx ends.
func Every(ctx context.Context, interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			do()
		}
	}
}

// Sleep returns after a duration, or when ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
