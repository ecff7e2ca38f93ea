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

// outline is a batch as the index holds it: its record may be large.
type outline struct {
	owner, id, api, status         string
	input, output, errors          string // ids of the files, "" for none
	createdAt, expiresAt, queuedAt int64
}

func (o outline) key() string { return o.owner + "." + o.id }

func (o outline) age() age { return age{o.createdAt, o.id} }

// names reports whether a file is the batch's output or error file.
func (o outline) names(file string) bool { return o.output == file || o.errors == file }

func (r record) outline() outline {
	o := outline{
		owner: r.Owner, id: r.ID, api: r.Target.API, status: r.Status, input: r.InputFileID,
		createdAt: r.CreatedAt, queuedAt: r.QueuedAt,
	}
	if r.OutputFileID != nil {
		o.output = *r.OutputFileID
	}
	if r.ErrorFileID != nil {
		o.errors = *r.ErrorFileID
	}
	if r.ExpiresAt != nil {
		o.expiresAt = *r.ExpiresAt
	}
	return o
}

// sweep ends what has expired, queues stalled batches again, and counts. All gateways sweep, possibly at once. It
// continues after an error and returns the last one: a batch that fails must not hold up other batches, nor the
// deletion of files, which frees storage.
func (s *Service) sweep(ctx context.Context, st *stores) error {
	// Count tasks before reading the records, so that the records show what these tasks have done.
	tasks, err := s.countTasks(ctx, st)
	if err != nil {
		return err
	}
	states := map[string]int{}
	batches := map[string]outline{} // by key
	var failure error
	err = st.outlines.Each(ctx, "", func(key string, o outline) error {
		states[o.status]++
		batches[key] = o
		failure = cmp.Or(s.sweepBatch(ctx, st, o, tasks[o.api]), failure)
		return nil
	})
	if err != nil {
		return err
	}
	s.program.Meter.Batches(states)
	return errors.Join(failure, st.dropOldest(ctx, batches), st.sweepFiles(ctx, batches))
}

// countTasks returns the number of tasks of each API's lines.
func (s *Service) countTasks(ctx context.Context, st *stores) (tasks map[string]int, err error) {
	tasks = map[string]int{}
	for api, chunks := range st.chunks {
		if tasks[api], err = chunks.Waiting(ctx); err != nil {
			return nil, err
		}
		s.program.Meter.BatchTasks(api, tasks[api])
	}
	return tasks, nil
}

// sweepBatch does what is due for one batch. tasks is the number of its API's tasks before the batch was read.
func (s *Service) sweepBatch(ctx context.Context, st *stores, o outline, tasks int) error {
	switch {
	case isFinal(o.status):
		if now()-o.createdAt < int64((s.config.KeepFiles+window)/time.Second) {
			return nil
		}
		return st.dropBatch(ctx, o.key(), o.id)
	case o.status == inProgress && o.expiresAt <= now():
		return st.endEarly(ctx, o.key(), func(r *record) { r.finalize(expired) })
	case o.status == inProgress && o.queuedAt > 0:
		if tasks > 0 || now()-o.queuedAt < int64(stalledAfter/time.Second) {
			return nil
		}
		// A chunk was lost: the check step queues again those that are not done.
	case now()-o.createdAt < int64(stalledAfter/time.Second):
		return nil
	}
	step := stepFinish
	if o.status == validating || o.status == inProgress {
		step = stepCheck
	}
	return st.pushStep(ctx, o.key(), step) // no effect while that task exists
}

// endEarly ends a batch in progress, keeping its answers.
func (st *stores) endEarly(ctx context.Context, key string, change func(*record)) error {
	r, err := st.batches.Change(ctx, key, func(r *record) error {
		if r.Status != inProgress {
			return queue.ErrUnchanged
		}
		change(r)
		return nil
	})
	if err != nil {
		return err
	}
	return st.end(ctx, r)
}

// dropOldest deletes the oldest finished batches of owners that have more than maxFinished.
func (st *stores) dropOldest(ctx context.Context, batches map[string]outline) error {
	finished := map[string][]string{} // ids, which sort by age, by owner
	for _, b := range batches {
		if isFinal(b.status) {
			finished[b.owner] = append(finished[b.owner], b.id)
		}
	}
	for owner, ids := range finished {
		slices.Sort(ids)
		for _, id := range ids[:max(0, len(ids)-maxFinished)] {
			if err := st.dropBatch(ctx, owner+"."+id, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (st *stores) dropBatch(ctx context.Context, key, id string) error {
	if err := st.answers.Drop(ctx, id); err != nil {
		return err
	}
	return st.batches.Delete(ctx, key)
}

// sweepFiles deletes files that have expired and results that their batch does not name. It ends batches in progress
// whose input was deleted while they were created.
func (st *stores) sweepFiles(ctx context.Context, batches map[string]outline) error {
	inputs := map[string]bool{} // of unfinished batches: whether the file exists
	for _, b := range batches {
		if !isFinal(b.status) {
			inputs[b.input] = false
		}
	}
	err := st.fileIndex.Each(ctx, "", func(_ string, r fileRecord) error {
		_, isInput := inputs[r.ID]
		if isInput {
			inputs[r.ID] = true
		}
		b, known := batches[r.Batch]
		isUnnamed := known && isFinal(b.status) && !b.names(r.ID)
		if r.isExpired() && !isInput || isUnnamed {
			return st.dropFile(ctx, r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, b := range batches {
		if b.status == inProgress && !inputs[b.input] {
			if err := st.endWithoutInput(ctx, key, b.input); err != nil {
				return err
			}
		}
	}
	return nil
}

// endWithoutInput ends a batch whose input has no record, unless its content still exists.
func (st *stores) endWithoutInput(ctx context.Context, key, input string) error {
	_, err := io.ReadFull(st.content.Open(ctx, input, 1), make([]byte, 1))
	if !errors.Is(err, queue.ErrNone) {
		return err
	}
	return st.endEarly(ctx, key, func(r *record) {
		r.finalize(failed)
		r.Errors = &Errors{Object: "list", Data: []Error{inputMissing}}
	})
}

// dropOrphans deletes the content of uploads that broke off with their gateway.
func dropOrphans(ctx context.Context, st *stores) error {
	before := clock().Add(-maxUploadTime - jobs.OrphanGrace)
	return jobs.DropOrphans(ctx, st.content, st.files, before, func(name string) string { return name })
}
