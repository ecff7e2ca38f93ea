package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// The errors that callers can tell apart. Any other error means that the engine does not answer now.
var (
	// ErrExists means that the record or answer already exists.
	ErrExists = errors.New("it exists already")
	// ErrNone means that the record, the answer or a part of the file does not exist.
	ErrNone = errors.New("there is none")
	// ErrFull means that the disk, or the bound on stored bytes, has no room for a write.
	ErrFull = errors.New("the storage of jobs is full")
)

// Codes of JetStream's errors that its client has no names for.
const (
	noPeers             = 10005 // fewer nodes than replicas
	replicasUnsupported = 10074 // the server is in no cluster
	accountExceeded     = 10002
	storeFailed         = 10077
	resourcesExceeded   = 10023
	storageExceeded     = 10047
)

// translate wraps an error of JetStream in one of this package's, if it is one.
func translate(err error) error {
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
	case refusal.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant: // from a replicated stream
		return fmt.Errorf("%w: %w", ErrExists, err)
	case refusal.ErrorCode == storeFailed && strings.Contains(refusal.Description, "per subject"):
		return fmt.Errorf("%w: %w", ErrExists, err)
	case refusal.ErrorCode == storeFailed && strings.Contains(refusal.Description, "maximum bytes"),
		refusal.ErrorCode == accountExceeded, refusal.ErrorCode == resourcesExceeded,
		refusal.ErrorCode == storageExceeded, strings.Contains(refusal.Description, "no space left"):
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// prefix begins the names of all streams, buckets and subjects.
const prefix = "retort"

// stream creates a stream, or updates the one that exists: settings may have changed.
func (e *Engine) stream(ctx context.Context, config jetstream.StreamConfig) (jetstream.Stream, error) {
	existing, err := e.js.Stream(ctx, config.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = e.withReplicas(func(replicas int) (err error) {
			config.Replicas = replicas
			existing, err = e.js.CreateOrUpdateStream(ctx, config)
			return err
		})
		return existing, err
	}
	if err != nil {
		return nil, err
	}
	config.Replicas = existing.CachedInfo().Config.Replicas
	updated, err := e.js.UpdateStream(ctx, config)
	if errors.Is(translate(err), ErrFull) { // a cluster reserves the bounds of its streams, and has no more to reserve
		e.logger.Warn().Err(err).Str("stream", config.Name).Msg("the bound of a stream stays as it is")
		updated = existing
		err = nil
	}
	if err == nil {
		e.updateReplicas(ctx, config.Name)
	}
	return updated, err
}

// defaultReplicas is the number of replicas if the setting is 0 and the cluster has as many nodes.
const defaultReplicas = 3

// withReplicas calls create with the number of replicas: the setting, or defaultReplicas with 1 as the fallback.
func (e *Engine) withReplicas(create func(replicas int) error) error {
	switch {
	case e.embedded != nil:
		return create(1)
	case e.config.Cluster.Replicas > 0:
		return create(e.config.Cluster.Replicas)
	}
	err := create(defaultReplicas)
	if isTooFewNodes(err) {
		return create(1)
	}
	return err
}

// updateReplicas sets the number of replicas of an existing stream to the setting, which may have changed. With the
// setting 0 it only adds replicas, for example after a single node has become a cluster. If it cannot, the stream
// is not changed.
func (e *Engine) updateReplicas(ctx context.Context, name string) {
	if e.embedded != nil {
		return
	}
	if err := e.tryUpdateReplicas(ctx, name); err != nil {
		e.logger.Warn().Err(err).Str("stream", name).Msg("the number of copies stays as it is")
	}
}

func (e *Engine) tryUpdateReplicas(ctx context.Context, name string) error {
	stream, err := e.js.Stream(ctx, name)
	if err != nil {
		return err
	}
	config := stream.CachedInfo().Config
	setting := e.config.Cluster.Replicas
	wanted := setting
	if setting == 0 {
		wanted = max(defaultReplicas, config.Replicas)
	}
	if wanted == config.Replicas {
		return nil
	}
	config.Replicas = wanted
	_, err = e.js.UpdateStream(ctx, config)
	if setting == 0 && isTooFewNodes(err) {
		return nil
	}
	return err
}

// isTooFewNodes reports whether an error means that the cluster has fewer nodes than replicas were requested.
func isTooFewNodes(err error) bool {
	var refusal *jetstream.APIError
	return errors.As(err, &refusal) && (refusal.ErrorCode == replicasUnsupported || refusal.ErrorCode == noPeers)
}

// read returns the message of a subject, or ErrNone.
func (e *Engine) read(
	ctx context.Context, from jetstream.Stream, subject string,
) (msg *jetstream.RawStreamMsg, err error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	err = e.retryMissing(ctx, func() error {
		return translate(retryUnanswered(ctx, func(ctx context.Context) (err error) {
			msg, err = from.GetLastMsgForSubject(ctx, subject)
			return err
		}))
	})
	return msg, err
}

// request returns the answer to a request to JetStream's API.
func (e *Engine) request(ctx context.Context, subject string, body []byte) (reply *nats.Msg, err error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	err = retryUnanswered(ctx, func(ctx context.Context) (err error) {
		reply, err = e.conn.RequestWithContext(ctx, subject, body)
		return err
	})
	return reply, err
}

// retryUnanswered repeats a read that has no answer after readTimeout, until ctx ends.
func retryUnanswered(ctx context.Context, read func(context.Context) error) error {
	for {
		try, stop := context.WithTimeout(ctx, readTimeout)
		err := read(try)
		stop()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return err
		}
	}
}

// retryMissing repeats a read that returns ErrNone, if the engine is a cluster: any replica answers, and it may be
// stale for a moment.
func (e *Engine) retryMissing(ctx context.Context, read func() error) error {
	if e.embedded != nil {
		return read()
	}
	for pause := 20 * time.Millisecond; ; pause *= 3 {
		err := read()
		if !errors.Is(err, ErrNone) || pause > 500*time.Millisecond {
			return err
		}
		Sleep(ctx, pause)
	}
}

// publish stores a message with data at a subject, or returns ErrFull.
func (e *Engine) publish(ctx context.Context, purpose Purpose, subject string, data []byte) error {
	return e.publishMsg(ctx, purpose, &nats.Msg{Subject: subject, Data: data})
}

func (e *Engine) publishMsg(ctx context.Context, purpose Purpose, msg *nats.Msg) error {
	if err := e.reserve(purpose, len(msg.Data)); err != nil {
		return err
	}
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	_, err := e.js.PublishMsg(ctx, msg)
	return translate(err)
}
