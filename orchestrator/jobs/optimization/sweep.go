package optimization

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"retort/orchestrator/jobs/queue"
)

const (
	sweepInterval = time.Minute
	// orphanInterval is after how many sweeps texts without a job are looked for again.
	orphanInterval = 60
	// orphanGrace is how long a text may exist before its job does.
	orphanGrace = 5 * time.Minute
)

// summary is what an index holds of a job, for sweeps, bounds and lists.
type summary struct {
	api       string
	id        string
	ended     bool
	bytes     int64 // of its body and result
	expiresAt int64 // 0: not yet known
}

func summarize(r record) summary {
	s := summary{api: r.API, id: r.ID, ended: r.Status.ended(), bytes: r.BodySize + r.ResultSize}
	if r.ExpiresAt != nil {
		s.expiresAt = *r.ExpiresAt
	}
	return s
}

// sweepOften sweeps and, less often, removes orphans, until ctx ends.
func (s *Service) sweepOften(ctx context.Context, st *stores) {
	n := 0
	queue.Every(ctx, sweepInterval, func() {
		err := s.sweep(ctx, st, now())
		if n++; n%orphanInterval == 1 {
			err = errors.Join(err, s.dropOrphans(ctx, st, time.Now()))
		}
		if err != nil && ctx.Err() == nil {
			s.logger.Warn().Err(err).Msg("sweep of searches failed")
		}
	})
}

// sweep deletes the jobs that expired before a time, with their texts, and queues a task for every job that has not ended.
func (s *Service) sweep(ctx context.Context, st *stores, before int64) error {
	var failure error // the last one; the sweep goes on after it
	err := st.index.Each(ctx, "", func(key string, job summary) error {
		switch {
		case !job.ended: // its task may be lost; a second one is not added
			failure = cmp.Or(st.tasks.Push(ctx, queue.Work, key, nil), failure)
		case job.expiresAt > 0 && job.expiresAt < before:
			failure = cmp.Or(errors.Join(st.texts.DeleteAll(ctx, key), st.jobs.Delete(ctx, key)), failure)
		}
		return nil
	})
	return errors.Join(err, failure)
}

// dropOrphans removes texts whose job was never created, or was deleted while an attempt wrote the result.
func (s *Service) dropOrphans(ctx context.Context, st *stores, at time.Time) error {
	names, err := st.texts.Names(ctx) // listed before the jobs, so that a job created in between is known
	if err != nil {
		return err
	}
	jobs, err := st.jobs.Keys(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, key := range jobs {
		known[key] = true
	}
	for _, name := range names {
		key := name[:max(0, strings.LastIndexByte(name, '.'))]
		if known[key] || at.Sub(createdAt(key)) < orphanGrace {
			continue
		}
		if err := st.texts.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// createdAt is when the id in a key was made (see newID), or the zero time for a key without one.
func createdAt(key string) time.Time {
	_, id, _ := strings.Cut(key, "."+idPrefix)
	ms, err := strconv.ParseInt(id[:min(idTimeDigits, len(id))], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
