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

// sweep deletes the jobs that expired before a Unix time, with their files, and queues a task for every job that has
// not ended. It continues after an error and returns the last one.
func (s *Service) sweep(ctx context.Context, st *stores, before int64) error {
	records, err := st.index.Records(ctx, "")
	if err != nil {
		return err
	}
	var failure error
	for key, r := range records {
		switch {
		case !r.Status.ended(): // in case its task is lost; Push is idempotent
			failure = cmp.Or(st.tasks.Push(ctx, queue.Work, key, nil), failure)
		case r.ExpiresAt != nil && *r.ExpiresAt < before:
			failure = cmp.Or(errors.Join(st.files.DeleteAll(ctx, key), st.jobs.Delete(ctx, key)), failure)
		}
	}
	return failure
}

// dropOrphans deletes files whose job was never created, or was deleted while an attempt wrote the result.
func dropOrphans(ctx context.Context, st *stores, at time.Time) error {
	return jobs.DropOrphans(ctx, st.files, st.jobs, at.Add(-jobs.OrphanGrace), func(name string) string {
		_, file, _ := strings.Cut(name, ".") // owner.id.body or owner.id.result
		id, _, _ := strings.Cut(file, ".")
		return id
	})
}
