package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"retort/orchestrator/fault"
)

type silentMeter struct{}

func (silentMeter) Waiting(string, int) {}
func (silentMeter) Refused(string)      {}

// Heavy requests, however many, leave permits and places to light ones.
func TestLightRequestsPassHeavyOnes(t *testing.T) {
	p := newPermits("kitchen", 8, 8, silentMeter{})
	ctx, leave := context.WithCancel(t.Context())
	granted := make(chan func(), 100)
	refused := make(chan error, 100)
	for range 20 {
		go func() {
			release, err := p.acquire(ctx, true)
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
		release, err := p.acquire(t.Context(), false)
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
	if p.serving != (load{}) || p.waiting != (load{}) {
		t.Errorf("serving %+v, waiting %+v; want none", p.serving, p.waiting)
	}
}

// Light requests that keep coming do not shut a heavy one out, and one that leaves gives its place back.
func TestHeavyRequestsGetTheirShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPermits("kitchen", 2, 100, silentMeter{})
		ctx, stop := context.WithCancel(t.Context())
		for range 10 {
			go func() {
				for ctx.Err() == nil {
					release, err := p.acquire(ctx, false)
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
		release, err := p.acquire(ctx, true)
		if err != nil || time.Since(start) > 2*time.Second {
			t.Errorf("a heavy request waited %v: %v", time.Since(start), err)
		}
		release()
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		defer cancel()
		if _, err := p.acquire(short, false); err == nil {
			t.Error("a request got a permit after it had left")
		}
		stop()
		synctest.Wait()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if p.serving != (load{}) || p.waiting != (load{}) {
			t.Errorf("serving %+v, waiting %+v; want none", p.serving, p.waiting)
		}
	})
}

func TestBackgroundGetsPermitsThatNobodyWaitsFor(t *testing.T) {
	p := newPermits("embedding", 1, 8, silentMeter{})
	held, err := p.acquire(t.Context(), false)
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
			there := waiting()
			p.mu.Unlock()
			if there {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	wait("background", func() (func(), error) { return p.acquireBehind(t.Context()) }, func() bool { return len(p.background) == 1 })
	wait("client", func() (func(), error) { return p.acquire(t.Context(), false) }, func() bool { return p.waiting.all == 1 })
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := p.acquireBehind(ctx); err == nil || len(p.background) != 1 {
		t.Errorf("one that left: %v, %d wait", err, len(p.background))
	}
	held()
	if first, second := <-order, <-order; first != "client" || second != "background" {
		t.Errorf("%s, then %s", first, second)
	}
}
