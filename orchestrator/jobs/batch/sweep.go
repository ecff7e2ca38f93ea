package batch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"retort/orchestrator/jobs/queue"
)

// Sweeps: how often what has expired is looked for, and how often, besides, content that nobody knows of.
const (
	sweepEvery  = 10 * time.Second
	orphanEvery = 360 // sweeps: an hour
)

// standing is how long after its beginning the next step of a batch is queued again where no task of it waits: none
// should be lost, and if one is, its batch must not stand still until it expires.
const standing = time.Minute

// lingering is how long content may be without a record.
const lingering = 5 * time.Minute

func (s *Service) sweepOften(ctx context.Context, st *stores) {
	for n := 0; ; n++ {
		err := s.sweep(ctx, st)
		if n%orphanEvery == 0 {
			err = errors.Join(err, s.dropOrphans(ctx, st))
		}
		if err != nil && ctx.Err() == nil {
			s.outside.Logger.Warn().Err(err).Msg("sweep of files and batches")
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sweepEvery):
		}
	}
}

// sweep ends what has expired, pushes on what stands still, and counts. All gateways do it; it may be done at once.
func (s *Service) sweep(ctx context.Context, st *stores) error {
	waiting, err := s.waiting(ctx, st) // before the batches are read: what was done by then shows there
	if err != nil {
		return err
	}
	states := map[string]int{}
	batches := map[string]outline{} // by key
	// The last failure: one batch does not keep the others, nor files whose deletion makes room.
	var failed error
	err = st.outlines.Each(ctx, "", func(key string, o outline) error {
		states[o.status]++
		batches[key] = o
		failed = cmp.Or(s.sweepBatch(ctx, st, o, waiting[o.api]), failed)
		return nil
	})
	if err != nil {
		return err
	}
	s.outside.Meter.Batches(states)
	return errors.Join(failed, s.dropOldest(ctx, st, batches), s.sweepFiles(ctx, st, batches))
}

// outline is what an index holds of a batch, whose record may be large.
type outline struct {
	owner, id, api, status            string
	input, output, errors             string // ids of the files, "" for none
	createdAt, expiresAt, validatedAt int64
}

func (o outline) key() string { return o.owner + "." + o.id }

func (o outline) ended() bool { return ended(o.status) }

func (r record) outline() outline {
	o := outline{
		owner: r.Owner, id: r.ID, api: r.Ask.API, status: r.Status, input: r.InputFileID,
		createdAt: r.CreatedAt, validatedAt: r.ValidatedAt,
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

// sweepFiles removes the files that have expired, and the results of workers that another one forestalled. A batch in
// progress whose input is not there any more, since it was deleted just as the batch was made, ends.
func (s *Service) sweepFiles(ctx context.Context, st *stores, batches map[string]outline) error {
	inputs := map[string]bool{} // of batches that have not ended, and whether they are there
	for _, b := range batches {
		if !b.ended() {
			inputs[b.input] = false
		}
	}
	err := st.fileIndex.Each(ctx, "", func(_ string, r fileRecord) error {
		_, inUse := inputs[r.ID]
		if inUse {
			inputs[r.ID] = true
		}
		of, known := batches[r.Batch]
		stray := known && of.ended() && of.output != r.ID && of.errors != r.ID
		if expired := r.ExpiresAt != nil && *r.ExpiresAt <= now() && !inUse; expired || stray {
			return st.dropFile(ctx, r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for key, b := range batches {
		if b.status == inProgress && !inputs[b.input] {
			if err := s.endWithoutInput(ctx, st, key, b.input); err != nil {
				return err
			}
		}
	}
	return nil
}

// endWithoutInput ends a batch whose input is gone; what was answered is kept.
func (s *Service) endWithoutInput(ctx context.Context, st *stores, key, input string) error {
	_, err := io.ReadFull(st.content.Open(ctx, input, 1), make([]byte, 1))
	if !errors.Is(err, queue.ErrNone) {
		return err
	}
	r, err := st.batches.Change(ctx, key, func(r *record) error {
		if r.Status != inProgress {
			return queue.ErrUnchanged
		}
		r.Status = finalizing
		r.FinalizingAt = pointer(now())
		r.Ending = failed
		r.Errors = &Errors{Object: "list", Data: []Error{inputGone}}
		return nil
	})
	if err != nil {
		return err
	}
	return s.end(ctx, st, r)
}

// dropOldest forgets the oldest batches that have ended of those keys that have too many of them.
func (s *Service) dropOldest(ctx context.Context, st *stores, batches map[string]outline) error {
	ended := map[string][]string{} // ids by owner, which grow with time
	for _, b := range batches {
		if b.ended() {
			ended[b.owner] = append(ended[b.owner], b.id)
		}
	}
	for owner, ids := range ended {
		if len(ids) <= maxEnded {
			continue
		}
		slices.Sort(ids)
		for _, id := range ids[:len(ids)-maxEnded] {
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

// waiting counts the tasks of lines of each API.
func (s *Service) waiting(ctx context.Context, st *stores) (tasks map[string]int, err error) {
	tasks = map[string]int{}
	for api, lines := range st.lines {
		if tasks[api], err = lines.Waiting(ctx); err != nil {
			return nil, err
		}
		s.outside.Meter.BatchTasks(api, tasks[api])
	}
	return tasks, nil
}

// sweepBatch does what is due for one batch. waiting is how many tasks of lines its API had before the batch was read.
func (s *Service) sweepBatch(ctx context.Context, st *stores, o outline, waiting int) error {
	switch {
	case o.ended():
		if now()-o.createdAt < int64((s.config.KeepFiles+window)/time.Second) {
			return nil
		}
		return st.dropBatch(ctx, o.key(), o.id)
	case o.status == inProgress && o.expiresAt <= now():
		r, err := st.batches.Change(ctx, o.key(), func(r *record) error {
			if r.Status != inProgress {
				return queue.ErrUnchanged
			}
			r.Status = finalizing
			r.FinalizingAt = pointer(now())
			r.Ending = expired
			return nil
		})
		if err != nil {
			return err
		}
		return s.end(ctx, st, r)
	case o.status == inProgress && o.validatedAt > 0:
		if waiting > 0 || now()-o.validatedAt < int64(standing/time.Second) {
			return nil
		}
		// A task of it was lost: below, what is not done is queued again.
	case now()-o.createdAt < int64(standing/time.Second):
		return nil
	}
	step := stepFinish
	if o.status == validating || o.status == inProgress {
		step = stepCheck
	}
	return st.pushStep(ctx, o.key(), step) // without effect while it is there
}

// dropOrphans removes content whose upload broke off with its gateway.
func (s *Service) dropOrphans(ctx context.Context, st *stores) error {
	names, err := st.content.Names(ctx)
	if err != nil {
		return err
	}
	files, err := st.files.Keys(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, key := range files {
		_, id, _ := strings.Cut(key, ".")
		known[id] = true
	}
	for _, name := range names {
		if known[name] || clock().Sub(made(name)) < lingering {
			continue
		}
		if err := st.content.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// made is when a file's id was: see newID. An upload takes an hour at most.
func made(id string) time.Time {
	digits := strings.TrimPrefix(id, "file-")
	ms, err := strconv.ParseInt(digits[:min(12, len(digits))], 16, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).Add(time.Hour)
}
