package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"retort/orchestrator/fault"
)

type silentMeter struct{}

func (silentMeter) AddWaiting(string, int) {}

// checkUnused fails if a request is still served or waits.
func checkUnused(t *testing.T, p *Permits) {
	t.Helper()
	if p.served != 0 || p.servedHeavy != 0 || len(p.light) != 0 || len(p.heavy) != 0 {
		t.Errorf("%d are served, %d of them heavy; %d light and %d heavy wait; want none",
			p.served, p.servedHeavy, len(p.light), len(p.heavy))
	}
}

// Heavy requests, however many, leave permits and places in the queue to light ones.
func TestLightRequestsPassHeavyOnes(t *testing.T) {
	p := NewPermits("kitchen", 8, 8, silentMeter{})
	ctx, leave := context.WithCancel(t.Context())
	granted := make(chan func(), 100)
	refused := make(chan error, 100)
	for range 20 {
		go func() {
			release, err := p.Acquire(ctx, true)
			if err != nil {
				refused <- err
				return
			}
			granted <- release
		}()
	}
	for range 20 - 6 - 6 { // six are served, six wait
		if err := <-refused; fault.KindOf(err) != fault.Overloaded {
			t.Error(err)
		}
	}
	for range 2 {
		release, err := p.Acquire(t.Context(), false)
		if err != nil {
			t.Fatalf("a light request beside heavy ones: %v", err)
		}
		release()
	}
	for range 6 {
		(<-granted)()
	}
	for range 6 { // those that waited
		(<-granted)()
	}
	leave()
	checkUnused(t, p)
}

// A constant stream of light requests does not starve a heavy one, and a request that leaves the queue takes no permit.
func TestHeavyRequestsGetTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPermits("kitchen", 2, 100, silentMeter{})
		ctx, stop := context.WithCancel(t.Context())
		for range 10 {
			go func() {
				for ctx.Err() == nil {
					release, err := p.Acquire(ctx, false)
					if err != nil {
						return
					}
					time.Sleep(time.Second)
					release()
				}
			}()
		}
		time.Sleep(5500 * time.Millisecond)
		start := time.Now()
		release, err := p.Acquire(ctx, true)
		if err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("a heavy request waited %v: %v", time.Since(start), err)
		}
		release()
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if _, err := p.Acquire(short, false); err == nil {
			t.Error("a request got a permit after its context had ended")
		}
		stop()
		synctest.Wait()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		checkUnused(t, p)
	})
}

// Background work gets a permit only if no client waits for it.
func TestBackgroundYieldsToClients(t *testing.T) {
	p := NewPermits("embedding", 1, 8, silentMeter{})
	held, err := p.Acquire(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	order := make(chan string, 2)
	wait := func(name string, acquire func() (func(), error), waiting func() bool) {
		go func() {
			release, err := acquire()
			if err != nil {
				t.Error(err)
				return
			}
			order <- name
			release()
		}()
		for {
			p.mu.Lock()
			isWaiting := waiting()
			p.mu.Unlock()
			if isWaiting {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	background := func() (func(), error) { return p.AcquireBackground(t.Context()) }
	client := func() (func(), error) { return p.Acquire(t.Context(), false) }
	wait("background", background, func() bool { return len(p.background) == 1 })
	wait("client", client, func() bool { return len(p.light) == 1 })
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := p.AcquireBackground(ctx); err == nil || len(p.background) != 1 {
		t.Errorf("after a canceled Acquire: %v, %d wait", err, len(p.background))
	}
	held()
	if first, second := <-order, <-order; first != "client" || second != "background" {
		t.Errorf("%s, then %s", first, second)
	}
}
