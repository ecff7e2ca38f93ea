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
	// orphanInterval is how often texts without a job are looked for, in sweeps.
	orphanInterval = 60
	// orphanGrace is how long texts may be there before their job is.
	orphanGrace = 5 * time.Minute
)

// summary is what sweeps, bounds and lists have to know of a job.
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

// sweepOften deletes what has expired, until ctx ends.
func (s *Service) sweepOften(ctx context.Context, st *stores) {
	n := 0
	queue.Every(ctx, sweepInterval, func() {
		err := s.sweep(ctx, st, now())
		if n++; err == nil && n%orphanInterval == 1 {
			err = s.dropOrphans(ctx, st, time.Now())
		}
		if err != nil && ctx.Err() == nil {
			s.logger.Warn().Err(err).Msg("sweep of searches")
		}
	})
}

// sweep deletes the jobs that expired before a moment, with all that belongs to them, and sees to it that all others have
// a task.
func (s *Service) sweep(ctx context.Context, st *stores, before int64) error {
	var failed error // the last; one job does not keep the others
	err := st.index.Each(ctx, "", func(key string, job summary) error {
		switch {
		case !job.ended: // its task may have been lost before it was written; there it is only once
			failed = cmp.Or(st.tasks.Push(ctx, key, nil), failed)
		case job.expiresAt > 0 && job.expiresAt < before:
			failed = cmp.Or(errors.Join(st.texts.DeleteAll(ctx, key), st.jobs.Delete(ctx, key)), failed)
		}
		return nil
	})
	return errors.Join(err, failed)
}

// dropOrphans removes texts whose job was never made, or was deleted while its attempt wrote its result.
func (s *Service) dropOrphans(ctx context.Context, st *stores, at time.Time) error {
	names, err := st.texts.Names(ctx) // before the jobs are looked at: the job of a text that is there by then is known
	if err != nil {
		return err
	}
	known := map[string]bool{}
	if err := st.index.Each(ctx, "", func(key string, _ summary) error {
		known[key] = true
		return nil
	}); err != nil {
		return err
	}
	for _, name := range names {
		key := name[:max(0, strings.LastIndexByte(name, '.'))]
		if known[key] || at.Sub(madeAt(key)) < orphanGrace {
			continue
		}
		if err := st.texts.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// madeAt is when the id of a key was: see newID.
func madeAt(key string) time.Time {
	_, id, _ := strings.Cut(key, "."+idPrefix)
	ms, err := strconv.ParseInt(id[:min(idTimeDigits, len(id))], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
