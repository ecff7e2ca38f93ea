package optimization

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
)

const sweepInterval = time.Minute

// summary is a job as the index holds it, for sweeps, quotas and lists.
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

// sweep deletes the jobs that expired before a Unix time, with their files, and queues a task for every job that has
// not ended. It continues after an error and returns the last one.
func (s *Service) sweep(ctx context.Context, st *stores, before int64) error {
	var failure error
	err := st.index.Each(ctx, "", func(key string, job summary) error {
		switch {
		case !job.ended: // in case its task is lost; Push is idempotent
			failure = cmp.Or(st.tasks.Push(ctx, queue.Work, key, nil), failure)
		case job.expiresAt > 0 && job.expiresAt < before:
			failure = cmp.Or(errors.Join(st.files.DeleteAll(ctx, key), st.jobs.Delete(ctx, key)), failure)
		}
		return nil
	})
	return errors.Join(err, failure)
}

// dropOrphans deletes files whose job was never created, or was deleted while an attempt wrote the result.
func dropOrphans(ctx context.Context, st *stores, at time.Time) error {
	return jobs.DropOrphans(ctx, st.files, st.jobs, at.Add(-jobs.OrphanGrace), func(name string) string {
		_, file, _ := strings.Cut(name, ".") // owner.id.body or owner.id.result
		id, _, _ := strings.Cut(file, ".")
		return id
	})
}
