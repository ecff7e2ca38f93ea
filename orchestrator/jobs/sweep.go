package jobs

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"retort/orchestrator/jobs/queue"
)

// orphanInterval is the time between two searches for orphans, which list all names.
const orphanInterval = time.Hour

// OrphanGrace is how long content may be stored before its record is.
const OrphanGrace = 5 * time.Minute

// SweepEvery calls sweep now and after each interval, and dropOrphans now and after each hour, until ctx ends. It logs
// their errors; kind names what is swept.
func SweepEvery(
	ctx context.Context, interval time.Duration, kind string, logger zerolog.Logger,
	sweep, dropOrphans func(context.Context) error,
) {
	var orphansDropped time.Time
	once := func() {
		err := sweep(ctx)
		if now := time.Now(); now.Sub(orphansDropped) >= orphanInterval {
			orphansDropped = now
			err = errors.Join(err, dropOrphans(ctx))
		}
		if err != nil && ctx.Err() == nil {
			logger.Warn().Err(err).Msg("sweep of " + kind + " failed")
		}
	}
	once()
	queue.Every(ctx, interval, once)
}

// DropOrphans deletes the files without a record that were created before a time. id is the id in a file's name, which
// the key of its record ends in.
func DropOrphans[Record any](
	ctx context.Context, files *queue.Files, records *queue.Table[Record], before time.Time,
	id func(name string) string,
) error {
	names, err := files.Names(ctx) // before the records, so that the record of a new file is seen
	if err != nil {
		return err
	}
	keys, err := records.Keys(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, key := range keys {
		_, id, _ := strings.Cut(key, ".")
		known[id] = true
	}
	for _, name := range names {
		if id := id(name); known[id] || !createdAt(id).Before(before) {
			continue
		}
		if err := files.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

const (
	// pollInterval is how long a worker may take to notice that its job was cancelled.
	pollInterval = time.Second
	// missingPolls is how many polls in a row must find no record before it counts as deleted: in a cluster a stale
	// replica may answer.
	missingPolls = 3
)

// Poll reads a record each second and calls isActive with it, until ctx ends. Once isActive returns false or the record
// is deleted, it calls cancel, which must end ctx. It logs other errors, the first of several in a row.
func Poll[Record any](
	ctx context.Context, cancel func(), t *queue.Table[Record], key string, logger zerolog.Logger,
	isActive func(Record) bool,
) {
	missing := 0
	failing := false
	queue.Every(ctx, pollInterval, func() {
		r, err := t.Get(ctx, key)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			missing = 0
			failing = false
			if !isActive(r) {
				cancel()
			}
		case errors.Is(err, queue.ErrNone):
			if missing++; missing == missingPolls {
				cancel()
			}
		default:
			if !failing {
				logger.Warn().Err(err).Str("key", key).Msg("poll for the cancellation of a job failed")
			}
			failing = true
		}
	})
}
