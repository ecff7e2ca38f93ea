// Package memory bounds what requests hold of the process's memory while their bodies and pictures are read, fetched
// and decoded, and keeps the process small.
package memory

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"retort/orchestrator/fault"
)

// A Budget is a number of bytes that all requests of the process share. A nil Budget gives everything at once, for
// tests and tools.
type Budget struct {
	size  int64
	bytes *semaphore.Weighted
	// Patience is how long Acquire waits before it refuses.
	patience time.Duration

	mu       sync.Mutex
	waiting  int
	held     int64
	returned time.Time // when memory was last given back to the system
}

// maxWaiting is how many requests may wait for bytes at once. Each of them holds the first pieces of its body only.
const maxWaiting = 1024

// freeAbove is the use, in bytes, after whose end memory is given back to the system at once: Go's runtime would take
// minutes.
const freeAbove = 64 << 20

// NewBudget returns a budget of size bytes. Whoever waits longer than patience is refused.
func NewBudget(size int64, patience time.Duration) *Budget {
	return &Budget{size: size, bytes: semaphore.NewWeighted(size), patience: patience}
}

// Size is the number of bytes that can be held at once.
func (b *Budget) Size() int64 {
	if b == nil {
		return 0
	}
	return b.size
}

// Acquire takes n bytes, waiting for others to give theirs back, in order of arrival. release gives them back and may
// be called more than once. More than the whole budget is taken to be the whole budget: such a request is served alone.
// The error is Overloaded where too many wait already or the wait took too long, or that of ctx.
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
	return func() { once.Do(func() { b.giveBack(n) }) }, nil
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
	patient, cancel := context.WithTimeout(ctx, b.patience)
	defer cancel()
	if b.bytes.Acquire(patient, n) == nil {
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

// giveBack returns n bytes. After much was held and nothing is any more, the memory itself goes back to the system, at
// most every ten seconds.
func (b *Budget) giveBack(n int64) {
	b.bytes.Release(n)
	b.mu.Lock()
	defer b.mu.Unlock()
	large := b.held >= freeAbove
	b.held -= n
	if large && b.held < freeAbove && time.Since(b.returned) > 10*time.Second {
		b.returned = time.Now()
		time.AfterFunc(time.Second, debug.FreeOSMemory)
	}
}

// Held is the number of bytes taken now.
func (b *Budget) Held() int64 {
	if b == nil {
		return 0
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}
