package queue

import (
	"cmp"
	"context"
	"strings"
	"time"
)

// Use is the purpose of a write, which decides how full the storage may be for it.
type Use int64

const (
	// Input is what new work brings: it is refused first.
	Input Use = iota
	// Work is what accepted work writes: tasks and answers.
	Work
	// Outcome is what ends work, so that its input can be deleted: results, records and the tasks that write them.
	Outcome
)

// Bounds on the storage where Config.MaxBytes gives none.
const (
	defaultMaxBytes = int64(10) << 30
	// freeShare divides what the embedded engine's disk has free and the engine has stored: no more than the quotient may be
	// stored before new work is refused, and twice that in all.
	freeShare = 4
	// ownerShare divides InputLimit: the quotient is for one kind of work of one owner.
	ownerShare = 4
)

// usageInterval is how often the bytes in a cluster are counted.
const usageInterval = 5 * time.Second

// InputLimit is how many bytes may be stored in all before new work is refused.
func (e *Engine) InputLimit() int64 {
	switch {
	case e.config.MaxBytes > 0:
		return e.config.MaxBytes
	case e.embedded == nil:
		return defaultMaxBytes
	}
	_, free := e.embedded.disk()
	return min(defaultMaxBytes, (free+e.used())/freeShare)
}

// OwnerLimit is how many bytes one kind of work of one owner may take: its files, or its searches.
func (e *Engine) OwnerLimit() int64 { return cmp.Or(e.config.OwnerBytes, e.InputLimit()/ownerShare) }

// limit is how many bytes may be stored in all before a use is refused.
func (e *Engine) limit(use Use) int64 { return e.InputLimit() / 2 * int64(2+use) }

// used is how many bytes are stored.
func (e *Engine) used() int64 {
	if e.embedded != nil {
		return int64(e.embedded.server.GlobalAccount().JetStreamUsage().Store)
	}
	return e.usage.Load()
}

// reserve counts n bytes as stored, or returns ErrFull if there is no room for them: see Config.MaxBytes. On a full disk the
// embedded engine's JetStream would stop altogether.
func (e *Engine) reserve(use Use, n int) error {
	if e.embedded != nil && !e.embedded.hasRoom() {
		return ErrFull
	}
	if e.used()+int64(n) > e.limit(use) {
		return ErrFull
	}
	e.usage.Add(int64(n))
	return nil
}

// reportFull logs a warning if new work will be refused from the start: the data is from before the bound was set.
func (e *Engine) reportFull() {
	if used, limit := e.used(), e.InputLimit(); used > limit {
		e.logger.Warn().Int64("bytes", used).Int64("limit", limit).
			Msg("jobs take more than jobs-max-bytes: new ones are refused until it is raised or files are deleted")
	}
}

// countOften counts the bytes in a cluster, to which other gateways write as well, until ctx ends.
func (e *Engine) countOften(ctx context.Context) {
	failed := false
	count := func() {
		err := e.count(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			e.logger.Warn().Err(err).Msg("the bytes in the cluster cannot be counted: what was counted last stands")
		}
		failed = err != nil
	}
	count()
	e.reportFull()
	Every(ctx, usageInterval, count)
}

// count counts the bytes in the cluster. After an error those of the last count stand, without what was written since: it
// may have been deleted.
func (e *Engine) count(ctx context.Context) error {
	defer func() { e.usage.Store(e.counted.Load()) }()
	ctx, stop := context.WithTimeout(ctx, usageInterval)
	defer stop()
	var sum uint64
	streams := e.js.ListStreams(ctx)
	for info := range streams.Info() {
		if strings.HasPrefix(strings.TrimPrefix(info.Config.Name, bucketStream), prefix+"_") {
			sum += info.State.Bytes
		}
	}
	if err := streams.Err(); err != nil {
		return err
	}
	e.counted.Store(int64(sum))
	return nil
}

// maxBytes is the bound of a stream of files or answers, -1 for none. In a cluster a gateway learns only later what others
// have written.
func (e *Engine) maxBytes() int64 {
	if e.config.MaxBytes == 0 || e.embedded != nil {
		return -1
	}
	return e.config.MaxBytes * int64(2+Outcome) / 2
}
