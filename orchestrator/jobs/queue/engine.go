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

// The errors that callers can tell apart. All others mean that the engine does not answer now.
var (
	// ErrExists is a record or an answer that is there already.
	ErrExists = errors.New("it exists already")
	// ErrNone is a record, an answer or a part of a file that is not there.
	ErrNone = errors.New("there is none")
	// ErrFull is a disk, or a bound on it, that has no room left.
	ErrFull = errors.New("the storage of jobs is full")
)

// Engine is a connection to JetStream, and the server itself where that is embedded.
type Engine struct {
	config   Config
	logger   zerolog.Logger
	conn     *nats.Conn
	js       jetstream.JetStream
	embedded *embedded    // nil: an outside cluster
	usage    atomic.Int64 // bytes in the cluster by the last count, and those written since
	counted  atomic.Int64 // bytes in the cluster by the last count
	stop     context.CancelFunc
}

// How long things with JetStream may take.
const (
	patience     = 10 * time.Second // an exchange
	readPatience = 3 * time.Second  // a try to read: what a node was asked that ended since is never answered
	reconnection = 5 * time.Second  // see Await
)

// Open starts the embedded server or connects to the outside cluster, which may take some seconds for each of its
// addresses, or until ctx ends. An error may pass: a cluster that does not answer yet, a folder that another process
// still holds.
func Open(ctx context.Context, config Config, logger zerolog.Logger) (*Engine, error) {
	e := &Engine{config: config, logger: logger.With().Str("part", "jobs").Logger(), stop: func() {}}
	options := []nats.Option{nats.Name("retort"), nats.MaxReconnects(-1), nats.Timeout(patience), nats.ReconnectBufSize(-1)}
	address := nats.DefaultURL
	if len(config.Cluster.URL) == 0 {
		var err error
		if e.embedded, err = startEmbedded(config.Folder, e.logger); err != nil {
			return nil, err
		}
		options = append(options, nats.InProcessServer(e.embedded.server))
	} else {
		address = strings.Join(config.Cluster.URL, ",")
		options = append(options, config.Cluster.options()...)
	}
	dial := &dialer{opening: ctx}
	if e.embedded == nil {
		options = append(options, nats.SetCustomDialer(dial))
	}
	var err error
	if e.conn, err = nats.Connect(address, options...); err != nil {
		e.Close()
		return nil, fmt.Errorf("NATS: %w", err)
	}
	dial.opened.Store(true)
	e.js, err = jetstream.New(e.conn, jetstream.WithDefaultTimeout(patience))
	if err != nil {
		e.Close()
		return nil, err
	}
	if e.embedded == nil {
		var life context.Context
		life, e.stop = context.WithCancel(context.Background())
		go e.countOften(life)
	} else {
		e.reportFull()
	}
	return e, nil
}

// dialer connects to the nodes of a cluster. Opening an engine ends with its context, later connections do not.
type dialer struct {
	opening context.Context
	opened  atomic.Bool
}

// Dial is called by the client of NATS.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	ctx := d.opening
	if d.opened.Load() {
		ctx = context.Background()
	}
	plain := net.Dialer{Timeout: patience}
	return plain.DialContext(ctx, network, address)
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

// Await is Ready for a caller that can wait: when the node ends to which it is connected, a gateway takes a moment to
// connect to another one.
func (e *Engine) Await(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, reconnection)
	defer stop()
	for {
		err := e.Ready()
		if err == nil || e.embedded != nil || ctx.Err() != nil {
			return err
		}
		Sleep(ctx, 20*time.Millisecond)
	}
}

// Close ends the connection and the embedded server. Tasks under way are taken again later.
func (e *Engine) Close() {
	e.stop()
	if e.conn != nil {
		_ = e.conn.FlushTimeout(time.Second) // what workers said at their end
		e.conn.Close()
	}
	if e.embedded != nil {
		e.embedded.stop()
	}
}

// prefix begins the names of all streams, buckets and subjects.
const prefix = "retort"

// stream makes a stream, or finds the one that is there.
func (e *Engine) stream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	found, err := e.js.Stream(ctx, config.Name)
	if err == nil {
		config.Replicas = found.CachedInfo().Config.Replicas
		updated, err := e.js.UpdateStream(ctx, config) // settings may have changed
		if errors.Is(meaning(err), ErrFull) {          // a cluster reserves what streams may take, and has so much no more
			e.logger.Warn().Err(err).Str("stream", config.Name).Msg("the bound of a stream stays as it is")
			updated = found
			err = nil
		}
		if err == nil {
			e.spread(ctx, config.Name)
		}
		return updated, err
	}
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		return nil, err
	}
	var made jetstream.Stream
	err = e.replicated(func(replicas int) (err error) {
		config.Replicas = replicas
		made, err = e.js.CreateOrUpdateStream(ctx, config)
		return err
	})
	return made, err
}

// replicated makes something with as many copies as are asked for; where the setting leaves it open, three or else one.
func (e *Engine) replicated(create func(replicas int) error) error {
	switch {
	case e.embedded != nil:
		return create(1)
	case e.config.Cluster.Replicas > 0:
		return create(e.config.Cluster.Replicas)
	}
	err := create(usualReplicas)
	if tooFewNodes(err) {
		return create(1)
	}
	return err
}

// spread gives a stream that was there already as many copies as are asked for now: the setting may have changed, or a
// single node have become a cluster. Where that cannot be done yet, the stream stays as it is and serves; the setting
// left open takes no copies away.
func (e *Engine) spread(ctx context.Context, name string) {
	if e.embedded != nil {
		return
	}
	err := func() error {
		found, err := e.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		config := found.CachedInfo().Config
		wanted := e.config.Cluster.Replicas
		if wanted == 0 {
			wanted = max(usualReplicas, config.Replicas)
		}
		if wanted == config.Replicas {
			return nil
		}
		config.Replicas = wanted
		_, err = e.js.UpdateStream(ctx, config)
		if e.config.Cluster.Replicas == 0 && tooFewNodes(err) {
			return nil
		}
		return err
	}()
	if err != nil {
		e.logger.Warn().Err(err).Str("stream", name).Msg("the number of copies stays as it is")
	}
}

// usualReplicas is how many copies there are where the setting leaves it open and there are nodes enough.
const usualReplicas = 3

// tooFewNodes reports whether an error says that there are fewer nodes than copies.
func tooFewNodes(err error) bool {
	var refusal *jetstream.APIError
	return errors.As(err, &refusal) && (refusal.ErrorCode == replicasUnsupported || refusal.ErrorCode == noPeers)
}

// Codes of JetStream's errors that its client has no names for.
const (
	noPeers             = 10005 // fewer nodes than replicas
	replicasUnsupported = 10074 // a server that is in no cluster
	accountExceeded     = 10002
	storeFailed         = 10077
	resourcesExceeded   = 10023
	storageExceeded     = 10047
)

// meaning makes one of this package's errors of one of JetStream's, where it is one.
func meaning(err error) error {
	var refusal *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jetstream.ErrKeyExists), errors.Is(err, jetstream.ErrKeyRevisionMismatch):
		return fmt.Errorf("%w: %w", ErrExists, err)
	case errors.Is(err, jetstream.ErrKeyNotFound), errors.Is(err, jetstream.ErrMsgNotFound):
		return fmt.Errorf("%w: %w", ErrNone, err)
	case !errors.As(err, &refusal):
		return err
	case refusal.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant: // what streams with copies say
		return fmt.Errorf("%w: %w", ErrExists, err)
	case refusal.ErrorCode == storeFailed && strings.Contains(refusal.Description, "per subject"):
		return fmt.Errorf("%w: %w", ErrExists, err)
	case refusal.ErrorCode == storeFailed && strings.Contains(refusal.Description, "maximum bytes"),
		refusal.ErrorCode == accountExceeded, refusal.ErrorCode == resourcesExceeded, refusal.ErrorCode == storageExceeded,
		strings.Contains(refusal.Description, "no space left"):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// read returns the message of a subject, or ErrNone. In a cluster any copy answers, which may be a moment behind.
func (e *Engine) read(ctx context.Context, from jetstream.Stream, subject string) (msg *jetstream.RawStreamMsg, err error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	err = e.again(ctx, func() (err error) {
		for {
			msg, err = try(ctx, from, subject)
			if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
				return meaning(err)
			}
		}
	})
	return msg, err
}

// try is one try to read.
func try(ctx context.Context, from jetstream.Stream, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, stop := context.WithTimeout(ctx, readPatience)
	defer stop()
	return from.GetLastMsgForSubject(ctx, subject)
}

// publish stores a message, where there is room for it.
func (e *Engine) publish(ctx context.Context, use Use, msg *nats.Msg) error {
	if err := e.reserve(use, len(msg.Data)); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	_, err := e.js.PublishMsg(ctx, msg)
	return meaning(err)
}

// message is one to be published.
func message(subject string, data []byte) *nats.Msg { return &nats.Msg{Subject: subject, Data: data} }

// again repeats a reading that found nothing in a cluster.
func (e *Engine) again(ctx context.Context, read func() error) error {
	err := read()
	for pause := 20 * time.Millisecond; e.embedded == nil && errors.Is(err, ErrNone) && pause < 200*time.Millisecond; pause *= 3 {
		Sleep(ctx, pause)
		err = read()
	}
	return err
}
