package unfinished_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/unfinished"
)

// oracleError is the error of an oracle.
type oracleError struct{ error }

func (oracleError) Oracle() string { return "docking" }

func (e oracleError) Unwrap() error { return e.error }

func TestExplain(t *testing.T) {
	background := t.Context()
	past := unfinished.WithLimits(background, unfinished.Limits{End: time.Unix(0, 0)})
	gone, leave := context.WithCancel(background)
	leave()
	stopped := unfinished.WithLimits(background, unfinished.Limits{End: time.Now().Add(time.Hour), Stopping: gone})
	late, cancel := context.WithDeadline(background, time.Unix(0, 0))
	defer cancel()
	lost := fault.New(fault.Unavailable, "Triton is not there")
	const timeIsUp = "the time for the request was up"
	for _, c := range []struct {
		name    string
		ctx     context.Context
		err     error
		reason  unfinished.Reason // if something was found; "" if the answer is an error anyway
		message string
		kind    fault.Kind // if nothing was found
	}{
		{"the deadline", past, context.DeadlineExceeded, unfinished.Deadline, timeIsUp, fault.Timeout},
		{"the deadline of the request", late, context.DeadlineExceeded, unfinished.Deadline, timeIsUp, fault.Timeout},
		{"a stop", stopped, context.Canceled, unfinished.Stopping, "the service is being stopped", fault.Unavailable},
		{"an oracle", background, oracleError{lost}, unfinished.Oracle, "Triton is not there", fault.Unavailable},
		{"Triton", background, lost, unfinished.Model, "Triton is not there", fault.Unavailable},
		{"a defect", background, errors.New("a secret"), unfinished.Model, "the model failed", fault.Internal},
		{"the request", background, fault.New(fault.Invalid, "smi"), "", "", fault.Invalid},
		{"a departed client", gone, context.Canceled, "", "", fault.Canceled},
	} {
		work, end := unfinished.Begin(c.ctx)
		if c.name == "a stop" {
			<-work.Done() // another goroutine ends it
		}
		explanation, err := unfinished.Explain(c.ctx, work, c.err, true)
		switch {
		case c.reason == "" && (explanation != nil || !errors.Is(err, c.err)):
			t.Errorf("%s: %+v %v", c.name, explanation, err)
		case c.reason == "":
		case err != nil || explanation == nil:
			t.Errorf("%s: %+v %v", c.name, explanation, err)
		case explanation.Reason != c.reason || explanation.Message != c.message || !errors.Is(explanation.Err, c.err):
			t.Errorf("%s: %+v", c.name, explanation)
		}
		explanation, err = unfinished.Explain(c.ctx, work, c.err, false)
		if explanation != nil || fault.KindOf(err) != c.kind {
			t.Errorf("%s, nothing found: %+v %v", c.name, explanation, err)
		}
		end()
	}
	if explanation, err := unfinished.Explain(background, background, nil, false); explanation != nil || err != nil {
		t.Errorf("finished work: %+v %v", explanation, err)
	}
}

// What was found may be scored until the grace period is over.
func TestBeginScoring(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	ctx := unfinished.WithLimits(t.Context(), unfinished.Limits{Grace: time.Hour, Stopping: stopping})
	work, end := unfinished.Begin(ctx)
	defer end()
	scoring, endScoring := unfinished.BeginScoring(ctx, work)
	stop()
	<-work.Done()
	if scoring.Err() != nil {
		t.Error("there was no grace period")
	}
	endScoring()
	<-scoring.Done()
	short := unfinished.WithLimits(t.Context(), unfinished.Limits{Grace: time.Millisecond, Stopping: stopping})
	work, end = unfinished.Begin(short)
	defer end()
	scoring, endScoring = unfinished.BeginScoring(short, work)
	defer endScoring()
	<-scoring.Done()
	if !errors.Is(context.Cause(scoring), unfinished.Stopping) {
		t.Errorf("the cause is %v, want Stopping", context.Cause(scoring))
	}
}

func TestReserve(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		2 * time.Minute: 2 * time.Second,
		time.Second:     100 * time.Millisecond,
	} {
		if got := unfinished.Reserve(timeout); got != want {
			t.Errorf("%v: %v, want %v", timeout, got, want)
		}
	}
}
