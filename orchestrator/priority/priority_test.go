package priority_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"retort/orchestrator/priority"
)

// machine serves requests and background work that slow each other down: beside n pieces of background work a request
// takes 1+n/2 times as long.
type machine struct {
	gate       *priority.Gate
	background atomic.Int32
	done       atomic.Int32
}

const alone = 20 * time.Millisecond

func (m *machine) work(ctx context.Context) {
	for {
		release, err := m.gate.Place(ctx)
		if err != nil {
			return
		}
		m.background.Add(1)
		time.Sleep(alone)
		m.background.Add(-1)
		m.done.Add(1)
		release()
	}
}

// ask sends requests of a client for a while and returns their mean time.
func (m *machine) ask(spell, pause time.Duration) time.Duration {
	var total time.Duration
	n := 0
	for until := time.Now().Add(spell); time.Now().Before(until); n++ {
		began := time.Now()
		ended := m.gate.Request("embedding")
		for left := alone; left > 0; left -= time.Millisecond {
			time.Sleep(time.Millisecond * time.Duration(2+m.background.Load()) / 2)
		}
		ended(true)
		total += time.Since(began)
		time.Sleep(pause)
	}
	return total / time.Duration(n)
}

func TestBackgroundTakesWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places = 16
		m := &machine{gate: priority.NewGate(places)}
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
		m.ask(20*time.Second, 30*time.Millisecond) // it finds its level
		m.done.Store(0)
		mean := m.ask(20*time.Second, 30*time.Millisecond)
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

func TestPlaceEndsWithItsContext(t *testing.T) {
	gate := priority.NewGate(1)
	release, err := gate.Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if _, err := gate.Place(ctx); err == nil {
		t.Error("a second place of one")
	}
	release()
	if release, err = gate.Place(t.Context()); err != nil {
		t.Fatal(err)
	}
	release()
}
