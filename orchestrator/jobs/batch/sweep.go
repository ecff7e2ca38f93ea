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

// lingering is how long a batch may stand still before its next step is queued again, and content may be without a
// record.
const lingering = 5 * time.Minute

func (s *Service) sweepOften(ctx context.Context, st *stores) {
	for n := 0; ; n++ {
		err := s.sweep(ctx, st)
		if err == nil && n%orphanEvery == 0 {
			err = s.dropOrphans(ctx, st)
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
	batches, err := st.batches.List(ctx, ">")
	if err != nil {
		return err
	}
	states := map[string]int{}
	for _, r := range batches {
		if err := s.sweepBatch(ctx, st, r, waiting[r.Ask.API]); err != nil {
			return err
		}
		states[r.Status]++
	}
	s.outside.Meter.Batches(states)
	if err := s.dropOldest(ctx, st, batches); err != nil {
		return err
	}
	if err := s.sweepFiles(ctx, st, batches); err != nil {
		return err
	}
	return nil
}

// sweepFiles removes the files that have expired, and the results of workers that another one forestalled. A batch in
// progress whose input is not there any more, since it was deleted just as the batch was made, ends.
func (s *Service) sweepFiles(ctx context.Context, st *stores, batches []record) error {
	files, err := st.files.List(ctx, ">")
	if err != nil {
		return err
	}
	byKey := map[string]record{}
	inUse := map[string]bool{}
	for _, r := range batches {
		byKey[r.key()] = r
		if !r.ended() {
			inUse[r.InputFileID] = true
		}
	}
	there := map[string]bool{}
	for _, r := range files {
		there[r.ID] = true
		of := byKey[r.Batch]
		if expired := r.ExpiresAt != nil && *r.ExpiresAt <= now() && !inUse[r.ID]; expired || of.ended() && !of.names(r.ID) {
			if err := st.dropFile(ctx, r); err != nil {
				return err
			}
		}
	}
	for _, r := range batches {
		if r.Status == inProgress && !there[r.InputFileID] {
			if err := s.endWithoutInput(ctx, st, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// endWithoutInput ends a batch whose input is gone; what was answered is kept.
func (s *Service) endWithoutInput(ctx context.Context, st *stores, r record) error {
	_, err := io.ReadFull(st.content.Open(ctx, r.InputFileID, 1), make([]byte, 1))
	if !errors.Is(err, queue.ErrNone) {
		return err
	}
	r, err = st.batches.Change(ctx, r.key(), func(r *record) error {
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
func (s *Service) dropOldest(ctx context.Context, st *stores, batches []record) error {
	ended := map[string][]record{} // by owner
	for _, r := range batches {
		if r.ended() {
			ended[r.Owner] = append(ended[r.Owner], r)
		}
	}
	for _, all := range ended {
		if len(all) <= maxEnded {
			continue
		}
		slices.SortFunc(all, func(a, b record) int { return cmp.Compare(a.ID, b.ID) }) // ids grow
		for _, r := range all[:len(all)-maxEnded] {
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
func (s *Service) sweepBatch(ctx context.Context, st *stores, r record, waiting int) error {
	switch {
	case r.ended():
		if now()-r.CreatedAt < int64((s.config.KeepFiles+window)/time.Second) {
			return nil
		}
		return st.dropBatch(ctx, r)
	case r.Status == inProgress && *r.ExpiresAt <= now():
		r, err := st.batches.Change(ctx, r.key(), func(r *record) error {
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
	case r.Status == inProgress && r.ValidatedAt > 0:
		if waiting > 0 || now()-r.ValidatedAt < int64(lingering/time.Second) {
			return nil
		}
		// A task of it was lost: below, what is not done is queued again.
	case now()-r.CreatedAt < int64(lingering/time.Second):
		return nil
	}
	step := stepFinish
	if r.Status == validating || r.Status == inProgress {
		step = stepCheck
	}
	return st.steps.Push(ctx, r.key()+step, nil) // without effect while it is there
}

// dropOrphans removes content whose upload broke off with its gateway.
func (s *Service) dropOrphans(ctx context.Context, st *stores) error {
	names, err := st.content.Names(ctx)
	if err != nil {
		return err
	}
	files, err := st.files.List(ctx, ">")
	if err != nil {
		return err
	}
	for _, name := range names {
		known := slices.ContainsFunc(files, func(r fileRecord) bool { return r.ID == name })
		if known || clock().Sub(made(name)) < lingering {
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
