package admission_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"retort/orchestrator/gateway/admission"
)

// machine serves requests and background work that slow each other down: beside n pieces of background work a request
// takes 1+n/2 times as long.
type machine struct {
	gate       *admission.BackgroundGate
	piece      time.Duration // of background work, alone
	request    time.Duration // of a client, alone
	background atomic.Int32
	done       atomic.Int32
}

const alone = 20 * time.Millisecond

func (m *machine) work(ctx context.Context) {
	for {
		release, err := m.gate.Acquire(ctx)
		if err != nil {
			return
		}
		m.background.Add(1)
		time.Sleep(m.piece)
		m.background.Add(-1)
		m.done.Add(1)
		release()
	}
}

// sendRequests sends requests of a client for a period and returns their mean duration.
func (m *machine) sendRequests(period, pause time.Duration) time.Duration {
	var total time.Duration
	n := 0
	for until := time.Now().Add(period); time.Now().Before(until); n++ {
		began := time.Now()
		ended := m.gate.StartRequest("embedding")
		for left := m.request; left > 0; left -= time.Millisecond {
			time.Sleep(time.Millisecond * time.Duration(2+m.background.Load()) / 2)
		}
		ended(true)
		total += time.Since(began)
		time.Sleep(pause)
	}
	return total / time.Duration(n)
}

func TestBackgroundUsesSpareCapacity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 16
		m := &machine{gate: admission.NewBackgroundGate(places), piece: alone, request: alone}
		ctx, stop := context.WithCancel(t.Context())
		for range places {
			go m.work(ctx)
		}
		time.Sleep(5 * time.Second)
		m.done.Store(0)
		time.Sleep(time.Second)
		if free := int32(time.Second / alone * places); m.done.Load() < free*9/10 {
			t.Errorf("%d pieces in a second without a client, of %d that there are places for", m.done.Load(), free)
		}
		m.sendRequests(20*time.Second, 30*time.Millisecond) // it finds its level
		m.done.Store(0)
		mean := m.sendRequests(20*time.Second, 30*time.Millisecond)
		if mean > alone*13/10 {
			t.Errorf("requests take %v beside background work, %v alone", mean, alone)
		}
		if m.done.Load() < 20 {
			t.Errorf("only %d pieces were done in 20 s beside a client", m.done.Load())
		}
		time.Sleep(5 * time.Second)
		m.done.Store(0)
		time.Sleep(time.Second)
		if free := int32(time.Second / alone * places); m.done.Load() < free*9/10 {
			t.Errorf("%d pieces in a second after the client has gone, of %d", m.done.Load(), free)
		}
		stop()
		time.Sleep(time.Second)
	})
}

func TestBackgroundGateAcquireEndsWithContext(t *testing.T) {
	gate := admission.NewBackgroundGate(1)
	release, err := gate.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := gate.Acquire(ctx); err == nil {
		t.Error("a second place of one")
	}
	release()
	if release, err = gate.Acquire(t.Context()); err != nil {
		t.Fatal(err)
	}
	release()
}

// A kind of requests that was slow beside background work but has ended does not limit it, while requests of another
// kind are as fast as ever.
func TestStaleKindDoesNotLimitBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := admission.NewBackgroundGate(8)
		ask := func(kind string, requests int, took time.Duration) {
			for range requests {
				ended := gate.StartRequest(kind)
				time.Sleep(took)
				ended(true)
				if release, err := gate.Acquire(t.Context()); err != nil { // it looks
					t.Fatal(err)
				} else {
					release()
				}
			}
		}
		ask("search", 10, 100*time.Millisecond)
		release, err := gate.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ask2 := gate.StartRequest("search")
		time.Sleep(5 * time.Second)
		ask2(true)
		release()
		held := gate.Level()
		ask("search", 5, 300*time.Millisecond)
		if gate.Level() >= held {
			t.Errorf("the level went from %g to %g while requests are slow", held, gate.Level())
		}
		ask("embedding", 600, 100*time.Millisecond)
		if gate.Level() < 8 {
			t.Errorf("a level of %g after a minute of requests that nothing slows down", gate.Level())
		}
	})
}

// A slow kind limits background work as long as one of its requests is in progress.
func TestLongRequestLimitsBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := admission.NewBackgroundGate(8)
		for range 10 {
			ended := gate.StartRequest("chat")
			time.Sleep(time.Second)
			ended(true)
		}
		release, err := gate.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		for range 6 {
			ended := gate.StartRequest("chat")
			for range 60 {
				time.Sleep(time.Second)
				ctx, stop := context.WithTimeout(t.Context(), time.Millisecond)
				if release, err := gate.Acquire(ctx); err == nil { // it looks
					release()
				}
				stop()
			}
			ended(true)
		}
		if gate.Level() > 1.0/16 {
			t.Errorf("a level of %g beside requests that take much longer than alone", gate.Level())
		}
		time.Sleep(time.Minute)
	})
}

// Until some requests of a kind have run without background work, little of it is admitted. Here pieces of work start
// too often for that.
func TestUnknownKindLimitsBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 16
		m := &machine{gate: admission.NewBackgroundGate(places), piece: alone, request: 20 * alone}
		ctx, stop := context.WithCancel(t.Context())
		for range places {
			go m.work(ctx)
		}
		time.Sleep(5 * time.Second)
		m.sendRequests(20*time.Second, 0)
		m.done.Store(0)
		if mean := m.sendRequests(20*time.Second, 0); mean > m.request*13/10 {
			t.Errorf("requests take %v beside background work, %v alone, at a level of %g",
				mean, m.request, m.gate.Level())
		}
		if m.done.Load() < 20 {
			t.Errorf("only %d pieces were done in 20 s beside a client", m.done.Load())
		}
		stop()
		time.Sleep(time.Second)
	})
}

// A request is not part of its kind's baseline if background work ran beside it, even if the work both started and
// ended during the request.
func TestRequestBesideBackgroundIsNoBaseline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := admission.NewBackgroundGate(8)
		const requests = 10
		for range requests {
			ended := gate.StartRequest("chat")
			time.Sleep(alone)
			ended(true)
		}
		for range 10 * requests {
			ended := gate.StartRequest("chat")
			time.Sleep(alone)
			release, err := gate.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(alone)
			release()
			time.Sleep(alone)
			ended(true)
		}
		if gate.Level() > 1.0/16 {
			t.Errorf("a level of %g beside requests that take three times as long as alone", gate.Level())
		}
	})
}
