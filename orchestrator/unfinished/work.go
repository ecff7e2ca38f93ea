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
	// Stopping is done at shutdown or job cancellation. Its cause is the Reason; any other cause means Stopping. nil:
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
		unwatch = context.AfterFunc(limits.Stopping, func() { cancel(reasonOf(limits.Stopping, Stopping)) })
	}
	return work, func() {
		unwatch()
		stopTimer()
		cancel(nil)
	}
}

// BeginScoring returns the context for scoring what work has found. It ends with ctx, or Limits.Grace after work. end
// releases its resources.
func BeginScoring(ctx, work context.Context) (scoring context.Context, end func()) {
	limits, _ := ctx.Value(limitsKey{}).(Limits)
	scoring, cancel := context.WithCancelCause(ctx)
	unwatch := context.AfterFunc(work, func() {
		cause := context.Cause(work)
		if limits.Grace <= 0 {
			cancel(cause)
			return
		}
		timer := time.AfterFunc(limits.Grace, func() { cancel(cause) })
		context.AfterFunc(scoring, func() { timer.Stop() })
	})
	return scoring, func() {
		unwatch()
		cancel(nil)
	}
}

// reasonOf returns the Reason that is the cause of a context that ended, or fallback if its cause is another one.
func reasonOf(ctx context.Context, fallback Reason) Reason {
	reason := fallback
	errors.As(context.Cause(ctx), &reason)
	return reason
}

// Explain says what the error of work means for the answer. If something was found it returns the explanation of an
// unfinished answer. It returns the error to answer with if nothing was found, if the request itself is invalid, and if
// the client has left. Without an error it returns neither.
func Explain(ctx, work context.Context, err error, found bool) (*Explanation, error) {
	if err == nil {
		return nil, nil
	}
	if fault.KindOf(err) == fault.Invalid || errors.Is(ctx.Err(), context.Canceled) {
		return nil, err
	}
	explanation := newExplanation(work, err)
	if found {
		return explanation, nil
	}
	switch explanation.Reason {
	case Deadline:
		return nil, fault.As(context.DeadlineExceeded)
	case Stopping, Cancelled, Waiting:
		return nil, fault.Wrap(fault.Unavailable, err, "%s", explanation.Message)
	}
	return nil, err
}

// messages has the messages of the reasons that end a context.
var messages = map[Reason]string{
	Deadline:  "the time for the request was up",
	Stopping:  "the service is being stopped",
	Cancelled: "the job was cancelled",
	Waiting:   "the job waits for scores",
}

// oracleError is an error of an oracle: see objective.Failure.
type oracleError interface {
	error
	Oracle() string
}

func newExplanation(work context.Context, err error) *Explanation {
	if work.Err() != nil {
		reason := reasonOf(work, Deadline)
		return &Explanation{Reason: reason, Message: messages[reason], Err: err}
	}
	f := fault.As(err)
	explanation := &Explanation{Reason: Model, Message: f.Message, Err: err}
	var oracle oracleError
	switch {
	case errors.As(err, &oracle):
		explanation.Reason = Oracle
	case f.Kind == fault.Internal || f.Kind == fault.Rejected:
		explanation.Message = "the model failed" // the client must not see more
	}
	return explanation
}
