package queue

import (
	"cmp"
	"context"
	"math"
	"strings"
	"time"
)

// Purpose is what a write is for. It decides how full the storage may be for the write.
type Purpose int64

const (
	// Input is the input of new work. It is refused first.
	Input Purpose = iota
	// Work is the tasks and answers of accepted work.
	Work
	// Outcome is the results and records that end work, so that its input can be deleted, and the tasks that write
	// them.
	Outcome
)

// Bounds on the storage if Config.MaxBytes sets none.
const (
	defaultMaxBytes = int64(10) << 30
	// freeShare divides the bytes on the embedded engine's disk that are free or stored by the engine. The quotient is
	// the input limit; twice as much may be stored in all.
	freeShare = 4
	// ownerShare divides the input limit. The quotient is the limit of one kind of work of one owner.
	ownerShare = 4
)

// The free bytes of the disk that the engine never uses, so that JetStream keeps running: a share of the disk, up to a
// bound.
const (
	reserveShare = 20
	maxReserve   = 256 << 20
)

// diskSpace is the size of a disk and its free bytes.
type diskSpace struct{ size, free int64 }

// unknownDisk is for a disk that cannot be examined: if it is full, writes to it fail.
var unknownDisk = diskSpace{size: math.MaxInt64 / 2, free: math.MaxInt64 / 2}

func (d diskSpace) hasRoom() bool { return d.free > min(d.size/reserveShare, maxReserve) }

// disk returns the space on the embedded engine's disk.
func (e *Engine) disk() diskSpace {
	if e.embedded == nil {
		return unknownDisk
	}
	return e.embedded.disk()
}

// inputLimit is how many bytes may be stored in all before new work is refused. disk is the present space.
func (e *Engine) inputLimit(disk diskSpace) int64 {
	if e.config.MaxBytes > 0 {
		return e.config.MaxBytes
	}
	return min(defaultMaxBytes, (disk.free+e.usedBytes())/freeShare)
}

// OwnerLimit is how many bytes one kind of work of one owner may take.
func (e *Engine) OwnerLimit() int64 {
	return cmp.Or(e.config.OwnerBytes, e.inputLimit(e.disk())/ownerShare)
}

// usedBytes is how many bytes are stored.
func (e *Engine) usedBytes() int64 {
	if e.embedded != nil {
		return int64(e.embedded.server.GlobalAccount().JetStreamUsage().Store)
	}
	return e.clusterBytes.Load()
}

// reserve counts n bytes as stored, or returns ErrFull if there is no room for them: see Config.MaxBytes. It checks the
// disk, because JetStream stops altogether when that is full.
func (e *Engine) reserve(purpose Purpose, n int) error {
	disk := e.disk()
	if !disk.hasRoom() || e.usedBytes()+int64(n) > e.inputLimit(disk)/2*int64(2+purpose) {
		return ErrFull
	}
	e.clusterBytes.Add(int64(n))
	return nil
}

// warnIfFull logs a warning if new work will be refused from the start: the data is older than the bound.
func (e *Engine) warnIfFull() {
	if used, limit := e.usedBytes(), e.inputLimit(e.disk()); used > limit {
		e.logger.Warn().Int64("bytes", used).Int64("limit", limit).
			Msg("jobs take more than jobs-max-bytes: new ones are refused until it is raised or files are deleted")
	}
}

// usageInterval is how often the bytes in a cluster are counted.
const usageInterval = 5 * time.Second

// countRepeatedly counts the bytes in a cluster, to which other gateways write as well, until ctx ends.
func (e *Engine) countRepeatedly(ctx context.Context) {
	failing := false
	count := func() {
		err := e.count(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			e.logger.Warn().Err(err).Msg("the bytes in the cluster cannot be counted: the last count is used")
		}
		failing = err != nil
	}
	count()
	e.warnIfFull()
	Every(ctx, usageInterval, count)
}

// count counts the bytes in the cluster. After an error it restores the last count, without the bytes written since:
// they may have been deleted.
func (e *Engine) count(ctx context.Context) error {
	defer func() { e.clusterBytes.Store(e.lastCount.Load()) }()
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
	e.lastCount.Store(int64(sum))
	return nil
}

// streamBound is the bound of a stream of files or answers in bytes, -1 for none. A cluster enforces it, because a
// gateway learns late what others have written.
func (e *Engine) streamBound() int64 {
	if e.config.MaxBytes == 0 || e.embedded != nil {
		return -1
	}
	return e.config.MaxBytes * int64(2+Outcome) / 2
}
