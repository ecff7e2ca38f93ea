package memory

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"retort/orchestrator/fault"
)

func TestBudgetWaitsAndRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const patience = 20 * time.Second
		budget := NewBudget(100, patience)
		first, err := budget.Acquire(t.Context(), 60)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = budget.Acquire(t.Context(), 50)
		if fault.KindOf(err) != fault.Overloaded || time.Since(start) != patience {
			t.Errorf("more than is free: %v after %v", err, time.Since(start))
		}
		second, err := budget.Acquire(t.Context(), 40)
		if err != nil || budget.Held() != 100 {
			t.Fatalf("all that is free: %v, %d held", err, budget.Held())
		}
		first()
		first() // only once
		second()
		if budget.Held() != 0 {
			t.Errorf("%d bytes are still held", budget.Held())
		}
		whole, err := budget.Acquire(t.Context(), 1<<40)
		if err != nil {
			t.Fatalf("more than the whole budget: %v", err)
		}
		whole()
	})
}

// Released bytes go to waiting requests in order of arrival; a request whose client leaves stops waiting.
func TestReleasedBytesGoToWaitingRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := NewBudget(100, time.Minute)
		hold, err := budget.Acquire(t.Context(), 100)
		if err != nil {
			t.Fatal(err)
		}
		var served []string
		acquire := func(ctx context.Context, name string, n int64) (done chan error) {
			done = make(chan error, 1)
			go func() {
				release, err := budget.Acquire(ctx, n)
				if err == nil {
					served = append(served, name)
					release()
				}
				done <- err
			}()
			synctest.Wait() // it waits for bytes
			return done
		}
		leaving, leave := context.WithCancel(t.Context())
		large := acquire(t.Context(), "large", 100)
		gone := acquire(leaving, "gone", 1)
		small := acquire(t.Context(), "small", 1)
		leave()
		if err := <-gone; fault.KindOf(err) != fault.Canceled {
			t.Errorf("a departed client: %v", err)
		}
		synctest.Wait()
		if len(served) > 0 || budget.Held() != 100 {
			t.Errorf("%v are served while everything is held, %d bytes", served, budget.Held())
		}
		hold()
		if err := errors.Join(<-large, <-small); err != nil || !slices.Equal(served, []string{"large", "small"}) {
			t.Errorf("the waiting requests: %v, %v", served, err)
		}
		if budget.Held() != 0 {
			t.Errorf("%d bytes are still held", budget.Held())
		}
	})
}

func TestNoBudget(t *testing.T) {
	var none *Budget
	release, err := none.Acquire(t.Context(), 1<<40)
	if err != nil || none.Held() != 0 {
		t.Fatal(err)
	}
	release()
}

func TestLimits(t *testing.T) {
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		t.Fatal(err)
	}
	installed := int64(machine.Totalram) * int64(machine.Unit)
	limit := processLimit()
	if limit <= 0 || limit > installed {
		t.Errorf("the limit is %d bytes of %d", limit, installed)
	}
	if size := DefaultSize(); size != min(max(limit/8, 256<<20), 2<<30) {
		t.Errorf("the default is %d bytes with a limit of %d", size, limit)
	}
}
