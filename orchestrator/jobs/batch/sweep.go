package batch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
)

const sweepInterval = 10 * time.Second

// stalledAfter is how long a batch may be without a task before its next step is queued again. No task should be lost,
// but if one is, its batch must not stall until it expires.
const stalledAfter = time.Minute

// sweep ends what has expired, queues stalled batches again, and counts. All gateways sweep, possibly at once. It
// continues after an error and returns the last one: a batch that fails must not hold up other batches, nor the
// deletion of files, which frees storage.
func (s *Service) sweep(ctx context.Context, st *stores) error {
	// Count tasks before reading the records, so that the records show what these tasks have done.
	tasks, err := s.countTasks(ctx, st)
	if err != nil {
		return err
	}
	batches, err := st.batchIndex.Records(ctx, "")
	if err != nil {
		return err
	}
	states := map[string]int{}
	var failure error
	for _, r := range batches {
		states[r.Status]++
		failure = cmp.Or(s.sweepBatch(ctx, st, r, tasks[r.Target.API]), failure)
	}
	s.program.Meter.SetBatches(states)
	return errors.Join(failure, st.dropOldest(ctx, batches), st.sweepFiles(ctx, batches))
}

// countTasks returns the number of tasks of each API's lines.
func (s *Service) countTasks(ctx context.Context, st *stores) (tasks map[string]int, err error) {
	tasks = map[string]int{}
	for api, chunks := range st.chunks {
		if tasks[api], err = chunks.Waiting(ctx); err != nil {
			return nil, err
		}
		s.program.Meter.SetBatchTasks(api, tasks[api])
	}
	return tasks, nil
}

// sweepBatch does what is due for one batch. tasks is the number of its API's tasks before the batch was read.
func (s *Service) sweepBatch(ctx context.Context, st *stores, r record, tasks int) error {
	switch {
	case isFinal(r.Status):
		if now()-r.CreatedAt < int64((s.config.KeepFiles+completionWindow)/time.Second) {
			return nil
		}
		return st.dropBatch(ctx, r)
	case r.Status == inProgress && *r.ExpiresAt <= now():
		return st.endEarly(ctx, r, func(r *record) { r.finalize(expired) })
	case r.Status == inProgress && r.QueuedAt > 0:
		if tasks > 0 || now()-r.QueuedAt < int64(stalledAfter/time.Second) {
			return nil
		}
		// A chunk was lost: the check step queues again those that are not done.
	case now()-r.CreatedAt < int64(stalledAfter/time.Second):
		return nil
	}
	step := stepFinish
	if r.Status == validating || r.Status == inProgress {
		step = stepCheck
	}
	return st.pushStep(ctx, r.key(), step) // no effect while that task exists
}

// endEarly ends a batch in progress, keeping its answers.
func (st *stores) endEarly(ctx context.Context, r record, change func(*record)) error {
	r, err := st.batches.Change(ctx, r.key(), func(r *record) error {
		if r.Status != inProgress {
			return queue.ErrUnchanged
		}
		change(r)
		return nil
	})
	if err != nil {
		return err
	}
	return st.skipToFinish(ctx, r)
}

// dropOldest deletes the oldest finished batches of owners that have more than maxFinished.
func (st *stores) dropOldest(ctx context.Context, batches map[string]record) error {
	finished := map[string][]record{} // by owner
	for _, r := range batches {
		if isFinal(r.Status) {
			finished[r.Owner] = append(finished[r.Owner], r)
		}
	}
	for _, records := range finished {
		slices.SortFunc(records, func(a, b record) int { return cmp.Compare(a.ID, b.ID) }) // by age
		for _, r := range records[:max(0, len(records)-maxFinished)] {
			if err := st.dropBatch(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (st *stores) dropBatch(ctx context.Context, r record) error {
	if err := st.answers.Drop(ctx, r.ID); err != nil {
		return err
	}
	return st.batches.Delete(ctx, r.key())
}

// sweepFiles deletes files that have expired and results that their batch does not name. It ends batches in progress
// whose input was deleted while they were created.
func (st *stores) sweepFiles(ctx context.Context, batches map[string]record) error {
	files, err := st.fileIndex.Records(ctx, "")
	if err != nil {
		return err
	}
	isInput := map[string]bool{} // of an unfinished batch, by id
	for _, r := range batches {
		if !isFinal(r.Status) {
			isInput[r.InputFileID] = true
		}
	}
	for _, f := range files {
		b, known := batches[f.Batch]
		isUnnamed := known && isFinal(b.Status) && !b.names(f.ID)
		if f.isExpired() && !isInput[f.ID] || isUnnamed {
			if err := st.dropFile(ctx, f); err != nil {
				return err
			}
		}
	}
	for _, r := range batches {
		if _, exists := files[r.Owner+"."+r.InputFileID]; !exists && r.Status == inProgress {
			if err := st.endWithoutInput(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// endWithoutInput ends a batch whose input has no record, unless its content still exists.
func (st *stores) endWithoutInput(ctx context.Context, r record) error {
	_, err := io.ReadFull(st.content.Open(ctx, r.InputFileID, 1), make([]byte, 1))
	if !errors.Is(err, queue.ErrNone) {
		return err
	}
	return st.endEarly(ctx, r, func(r *record) {
		r.finalize(failed)
		r.Errors = &Errors{Object: "list", Data: []Error{inputMissing}}
	})
}

// dropOrphans deletes the content of uploads that broke off with their gateway.
func dropOrphans(ctx context.Context, st *stores) error {
	before := clock().Add(-maxUploadTime - jobs.OrphanGrace)
	return jobs.DropOrphans(ctx, st.content, st.files, before, func(name string) string { return name })
}
