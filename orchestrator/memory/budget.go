// Package memory bounds the memory that the bodies and images of requests take, and keeps the process small.
package memory

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"retort/orchestrator/fault"
)

// A Budget is a number of bytes that all requests of the process share. A nil Budget has no bound, for tests and tools.
type Budget struct {
	size     int64
	bytes    *semaphore.Weighted
	patience time.Duration // how long Acquire waits at most

	mu      sync.Mutex
	waiting int
	held    int64
	freedAt time.Time // when memory was last returned to the operating system
}

// maxWaiting is the most requests that wait for bytes at once. Each of them holds the start of its body only.
const maxWaiting = 1024

// After more than freeAbove bytes were held, memory is returned to the operating system within a second, at most once
// in freeInterval. Go's runtime would take minutes.
const (
	freeAbove    = 64 << 20
	freeInterval = 10 * time.Second
)

// SmallBody is the most bytes of a body that takes no part of the budget: small requests never wait for large ones.
const SmallBody = 64 << 10

// BodyWeight is the memory that a byte of a large body takes until its request has been answered: for the text, for
// what is decoded from it, and for the garbage that Go lets grow to the same size again.
const BodyWeight = 4

// NewBudget returns a budget of size bytes. Acquire waits for at most patience.
func NewBudget(size int64, patience time.Duration) *Budget {
	return &Budget{size: size, bytes: semaphore.NewWeighted(size), patience: patience}
}

// Acquire takes n bytes, in order of arrival, and waits until they are free. A request for more than the whole budget
// gets the whole budget, and so is served alone. release may be called more than once. The error is Overloaded if too
// many requests wait or the wait took too long, or the one of ctx.
func (b *Budget) Acquire(ctx context.Context, n int64) (release func(), err error) {
	if b == nil || n <= 0 {
		return func() {}, nil
	}
	n = min(n, b.size)
	if !b.bytes.TryAcquire(n) {
		if err := b.wait(ctx, n); err != nil {
			return nil, err
		}
	}
	b.mu.Lock()
	b.held += n
	b.mu.Unlock()
	var once sync.Once
	return func() { once.Do(func() { b.release(n) }) }, nil
}

func (b *Budget) wait(ctx context.Context, n int64) error {
	b.mu.Lock()
	if b.waiting >= maxWaiting {
		b.mu.Unlock()
		return errFull()
	}
	b.waiting++
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.waiting--
		b.mu.Unlock()
	}()
	waiting, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	if b.bytes.Acquire(waiting, n) == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fault.As(ctx.Err())
	}
	return errFull()
}

func errFull() error {
	return &fault.Error{
		Kind:       fault.Overloaded,
		Message:    "The service is reading as many large requests as its memory allows, try again later.",
		RetryAfter: time.Second,
	}
}

func (b *Budget) release(n int64) {
	b.bytes.Release(n)
	b.mu.Lock()
	defer b.mu.Unlock()
	wasLarge := b.held >= freeAbove
	b.held -= n
	if wasLarge && b.held < freeAbove && time.Since(b.freedAt) > freeInterval {
		b.freedAt = time.Now()
		time.AfterFunc(time.Second, debug.FreeOSMemory)
	}
}

// Held returns the number of bytes held now.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}
