package memory_test

import (
	"context"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/memory"
)

func TestBudgetWaitsAndRefuses(t *testing.T) {
	budget := memory.NewBudget(100, 20*time.Millisecond)
	first, err := budget.Acquire(t.Context(), 60)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := budget.Acquire(t.Context(), 50); fault.KindOf(err) != fault.Overloaded {
		t.Errorf("more than is left: %v", err)
	}
	second, err := budget.Acquire(t.Context(), 40)
	if err != nil || budget.Held() != 100 {
		t.Fatalf("what is left: %v, %d held", err, budget.Held())
	}
	first()
	first() // only once
	second()
	if budget.Held() != 0 {
		t.Errorf("%d bytes are still held", budget.Held())
	}
	whole, err := budget.Acquire(t.Context(), 1<<40)
	if err != nil {
		t.Fatalf("more than the whole budget, alone: %v", err)
	}
	whole()
}

func TestBudgetIsHandedOn(t *testing.T) {
	budget := memory.NewBudget(100, time.Minute)
	first, err := budget.Acquire(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() {
		release, err := budget.Acquire(t.Context(), 1)
		if err == nil {
			release()
		}
		got <- err
	}()
	first()
	if err := <-got; err != nil {
		t.Errorf("a waiting request: %v", err)
	}
	hold, err := budget.Acquire(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	defer hold()
	left, leave := context.WithCancel(t.Context())
	leave()
	if _, err := budget.Acquire(left, 1); fault.KindOf(err) != fault.Canceled {
		t.Errorf("a client that left: %v", err)
	}
}

func TestNoBudget(t *testing.T) {
	var none *memory.Budget
	release, err := none.Acquire(t.Context(), 1<<40)
	if err != nil || none.Held() != 0 {
		t.Fatal(err)
	}
	release()
}

func TestLimits(t *testing.T) {
	if limit := memory.Limit(); limit < 0 {
		t.Errorf("the limit is %d bytes", limit)
	}
	if size := memory.Default(); size < 256<<20 || size > 2<<30 {
		t.Errorf("the default is %d bytes", size)
	}
}
