package unfinished

import (
	"context"
	"errors"
	"time"

	"retort/orchestrator/fault"
)

// Limits say when the work of a request has to end with what it has.
type Limits struct {
	// End is when the work has to end.
	End time.Time
	// Grace is how long what is found then may still be read and scored.
	Grace time.Duration
	// Stopping ends when the work has to end because the process is being stopped, or for the reason that is its cause; nil
	// for never.
	Stopping context.Context
}

type limitsKey struct{}

// Within returns ctx with the limits of the work done for it.
func Within(ctx context.Context, limits Limits) context.Context {
	return context.WithValue(ctx, limitsKey{}, limits)
}

// Begin returns the context of a request's work, which ends with ctx or, where that has limits, before. Its cause is
// then a [Reason]. The function returned frees it.
func Begin(ctx context.Context) (work context.Context, end func()) {
	limits, _ := ctx.Value(limitsKey{}).(Limits)
	work, cancel := context.WithCancelCause(ctx)
	free := func() {}
	if !limits.End.IsZero() {
		work, free = context.WithDeadlineCause(work, limits.End, Deadline)
	}
	forget := func() bool { return false }
	if limits.Stopping != nil {
		forget = context.AfterFunc(limits.Stopping, func() { cancel(stopReason(limits.Stopping)) })
	}
	return work, func() {
		forget()
		free()
		cancel(nil)
	}
}

// stopReason is the reason that a context ended for.
func stopReason(ctx context.Context) Reason {
	var reason Reason
	if errors.As(context.Cause(ctx), &reason) {
		return reason
	}
	return Stopping
}

// Last returns a context in which what work has found can be read and scored although it has ended: it ends with ctx,
// or when work ended a little while ago (Limits.Grace).
func Last(ctx, work context.Context) (last context.Context, end func()) {
	limits, _ := ctx.Value(limitsKey{}).(Limits)
	last, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(work, func() {
		cause := context.Cause(work)
		if limits.Grace <= 0 {
			cancel(cause)
			return
		}
		timer := time.AfterFunc(limits.Grace, func() { cancel(cause) })
		context.AfterFunc(last, func() { timer.Stop() })
	})
	return last, func() {
		forget()
		cancel(nil)
	}
}

// Of says what ended the work of ctx, given its error, when it has found something: then the answer is that, with the
// mark. Otherwise the request fails with the error that is returned: where nothing is found, where the request is at
// fault, and where nobody waits for an answer. Without an error there is neither.
func Of(ctx, work context.Context, err error, found bool) (*Mark, error) {
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

// ofOracle is an error of an oracle: see objective.Failure.
type ofOracle interface {
	error
	Oracle() string
}

func markOf(work context.Context, err error) *Mark {
	var oracle ofOracle
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
	case f.Kind == fault.Internal || f.Kind == fault.Rejected: // not to be shown
		return &Mark{Reason: Model, Message: "the model failed", Err: err}
	}
	return &Mark{Reason: Model, Message: f.Message, Err: err}
}
