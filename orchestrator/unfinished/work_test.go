package unfinished_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/unfinished"
)

// named is the error of an oracle.
type named struct{ error }

func (named) Oracle() string { return "docking" }

func (n named) Unwrap() error { return n.error }

func TestWhyWorkEnded(t *testing.T) {
	background := t.Context()
	past := unfinished.Within(background, unfinished.Limits{End: time.Unix(0, 0)})
	gone, leave := context.WithCancel(background)
	leave()
	stopped := unfinished.Within(background, unfinished.Limits{End: time.Now().Add(time.Hour), Stopping: gone})
	late, end := context.WithDeadline(background, time.Unix(0, 0))
	defer end()
	lost := fault.New(fault.Unavailable, "Triton is not there")
	for _, c := range []struct {
		name    string
		ctx     context.Context
		err     error
		reason  unfinished.Reason // with something found; empty for an error all the same
		message string
		kind    fault.Kind // with nothing found
	}{
		{"the deadline", past, context.DeadlineExceeded, unfinished.Deadline, "the time for the request was up", fault.Timeout},
		{"the deadline, seen late", late, context.DeadlineExceeded, unfinished.Deadline, "the time for the request was up", fault.Timeout},
		{"a stop", stopped, context.Canceled, unfinished.Stopping, "the service is being stopped", fault.Unavailable},
		{"an oracle", background, named{lost}, unfinished.Oracle, "Triton is not there", fault.Unavailable},
		{"Triton", background, lost, unfinished.Model, "Triton is not there", fault.Unavailable},
		{"a defect", background, errors.New("a secret"), unfinished.Model, "the model failed", fault.Internal},
		{"the request", background, fault.New(fault.Invalid, "smi"), "", "", fault.Invalid},
		{"nobody who waits", gone, context.Canceled, "", "", fault.Canceled},
	} {
		work, free := unfinished.Begin(c.ctx)
		if c.name == "a stop" {
			<-work.Done() // the stop is told beside
		}
		mark, err := unfinished.Of(c.ctx, work, c.err, true)
		switch {
		case c.reason == "" && (mark != nil || !errors.Is(err, c.err)):
			t.Errorf("%s: %+v %v", c.name, mark, err)
		case c.reason != "" && (err != nil || mark == nil || mark.Reason != c.reason || mark.Message != c.message || !errors.Is(mark.Err, c.err)):
			t.Errorf("%s: %+v %v", c.name, mark, err)
		}
		mark, err = unfinished.Of(c.ctx, work, c.err, false)
		if mark != nil || fault.KindOf(err) != c.kind {
			t.Errorf("%s, nothing found: %+v %v", c.name, mark, err)
		}
		free()
	}
	if mark, err := unfinished.Of(background, background, nil, false); mark != nil || err != nil {
		t.Errorf("finished work: %+v %v", mark, err)
	}
}

func TestWhatWasFoundMayStillBeScored(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	ctx := unfinished.Within(t.Context(), unfinished.Limits{Grace: time.Hour, Stopping: stopping})
	work, end := unfinished.Begin(ctx)
	defer end()
	last, endLast := unfinished.Last(ctx, work)
	stop()
	<-work.Done()
	if last.Err() != nil {
		t.Error("there was no time left")
	}
	endLast()
	<-last.Done()
	short := unfinished.Within(t.Context(), unfinished.Limits{Grace: time.Millisecond, Stopping: stopping})
	work, end = unfinished.Begin(short)
	defer end()
	last, endLast = unfinished.Last(short, work)
	defer endLast()
	<-last.Done()
	if !errors.Is(context.Cause(last), unfinished.Stopping) {
		t.Errorf("it ended by %v", context.Cause(last))
	}
}

func TestReserve(t *testing.T) {
	for length, want := range map[time.Duration]time.Duration{2 * time.Minute: 2 * time.Second, time.Second: 100 * time.Millisecond} {
		if got := unfinished.Reserve(length); got != want {
			t.Errorf("%v: %v", length, got)
		}
	}
}
