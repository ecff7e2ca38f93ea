package unfinished

import (
	"context"
	"errors"
	"time"

	"retort/orchestrator/fault"
)

// Limits say when the work of a request must end.
type Limits struct {
	End   time.Time     // zero: with the request
	Grace time.Duration // after the end of the work, for scoring what it has found
	// Stopping is done at shutdown or job cancellation. Its cause is the Reason; without one that is Stopping. nil:
	// never.
	Stopping context.Context
}

type limitsKey struct{}

// WithLimits returns ctx with the limits of its work.
func WithLimits(ctx context.Context, limits Limits) context.Context {
	return context.WithValue(ctx, limitsKey{}, limits)
}

// Begin returns the context of a request's work. It ends with ctx or, with a [Reason] as its cause, at the limits of
// ctx. end releases its resources.
func Begin(ctx context.Context) (work context.Context, end func()) {
	limits, _ := ctx.Value(limitsKey{}).(Limits)
	work, cancel := context.WithCancelCause(ctx)
	stopTimer := func() {}
	if !limits.End.IsZero() {
		work, stopTimer = context.WithDeadlineCause(work, limits.End, Deadline)
	}
	unwatch := func() bool { return false }
	if limits.Stopping != nil {
		unwatch = context.AfterFunc(limits.Stopping, func() { cancel(stopReason(limits.Stopping)) })
	}
	return work, func() {
		unwatch()
		stopTimer()
		cancel(nil)
	}
}

// stopReason returns the cause of Limits.Stopping.
func stopReason(ctx context.Context) Reason {
	var reason Reason
	if errors.As(context.Cause(ctx), &reason) {
		return reason
	}
	return Stopping
}

// Last returns a context for scoring what work has found. It ends with ctx, or Limits.Grace after work.
func Last(ctx, work context.Context) (last context.Context, end func()) {
	limits, _ := ctx.Value(limitsKey{}).(Limits)
	last, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(work, func() {
		cause := context.Cause(work)
		if limits.Grace <= 0 {
			cancel(cause)
			return
		}
		timer := time.AfterFunc(limits.Grace, func() { cancel(cause) })
		context.AfterFunc(last, func() { timer.Stop() })
	})
	return last, func() {
		unwatch()
		cancel(nil)
	}
}

// Explain says what the error of work means for the answer. If something was found it returns the mark of an unfinished
// answer. It returns the error to answer with if nothing was found, if the request itself is invalid, and if the client
// has left. Without an error it returns neither.
func Explain(ctx, work context.Context, err error, found bool) (*Mark, error) {
	if err == nil {
		return nil, nil
	}
	if fault.KindOf(err) == fault.Invalid || errors.Is(ctx.Err(), context.Canceled) {
		return nil, err
	}
	mark := markOf(work, err)
	if found {
		return mark, nil
	}
	switch mark.Reason {
	case Deadline:
		return nil, fault.As(context.DeadlineExceeded)
	case Stopping, Cancelled:
		return nil, fault.Wrap(fault.Unavailable, err, "%s", mark.Message)
	}
	return nil, err
}

// oracleError is an error of an oracle: see objective.Failure.
type oracleError interface {
	error
	Oracle() string
}

func markOf(work context.Context, err error) *Mark {
	var oracle oracleError
	var reason Reason
	f := fault.As(err)
	switch {
	case work.Err() != nil && errors.As(context.Cause(work), &reason) && reason == Stopping:
		return &Mark{Reason: Stopping, Message: "the service is being stopped", Err: err}
	case work.Err() != nil && reason == Cancelled:
		return &Mark{Reason: Cancelled, Message: "the job was cancelled", Err: err}
	case work.Err() != nil:
		return &Mark{Reason: Deadline, Message: "the time for the request was up", Err: err}
	case errors.As(err, &oracle):
		return &Mark{Reason: Oracle, Message: f.Message, Err: err}
	case f.Kind == fault.Internal || f.Kind == fault.Rejected: // must not be shown
		return &Mark{Reason: Model, Message: "the model failed", Err: err}
	}
	return &Mark{Reason: Model, Message: f.Message, Err: err}
}
