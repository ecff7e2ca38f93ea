package batch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
)

// record is the stored state of a batch. Its JSON names must stay: older releases wrote them.
type record struct {
	Batch
	Owner       string   `json:"owner"`
	Target      Endpoint `json:"ask"`
	InputBytes  int64    `json:"input_bytes"`
	OutputLife  int64    `json:"output_life"` // seconds
	Chunks      int      `json:"chunks"`
	Done        []byte   `json:"done"`      // a bit for each chunk
	FinalStatus string   `json:"ending"`    // the status after finalizing or cancelling
	QueuedAt    int64    `json:"validated"` // when all chunks were queued; 0: not yet
}

func (r record) key() string { return r.Owner + "." + r.ID }

// summary returns the record as the index holds it, without its large members.
func (r record) summary() record {
	r.Done = nil
	r.Errors = nil
	r.Metadata = nil
	return r
}

// names reports whether a file is the batch's output or error file.
func (r record) names(file string) bool {
	return r.OutputFileID != nil && *r.OutputFileID == file || r.ErrorFileID != nil && *r.ErrorFileID == file
}

func isFinal(status string) bool {
	return slices.Contains([]string{failed, completed, expired, cancelled}, status)
}

// finalize sets the status to finalizing. finalStatus follows once the results are written.
func (r *record) finalize(finalStatus string) {
	r.Status = finalizing
	r.FinalizingAt = new(now())
	r.FinalStatus = finalStatus
}

// completionWindow is how long a batch may take.
const completionWindow = 24 * time.Hour

// Batches of one owner.
const (
	maxUnfinished = 2_000
	maxFinished   = 10_000 // beyond this the oldest are deleted
)

// Validate checks what needs no store.
func (c *Create) Validate() error {
	var problems fault.Problems
	problems.Add(fault.Text(c.InputFileID, "input_file_id"), fault.Text(c.Endpoint, "endpoint"))
	if len(c.Metadata) > 16 {
		problems.Add(fault.Field("too_long", nil, []any{"metadata"},
			"Dictionary should have at most 16 items after validation, not %d", len(c.Metadata)))
	}
	for name, value := range c.Metadata {
		if len(name) > 64 || len(value) > 512 {
			problems.Add(fault.Field("string_too_long", nil, []any{"metadata", fault.Clip(name)},
				"A key should have at most 64 characters, a value 512"))
		}
	}
	if c.OutputExpiresAfter != nil {
		problems.Add(checkExpiry(c.OutputExpiresAfter, "output_expires_after")...)
	}
	return problems.Err()
}

// create creates a batch. via is the API on whose port the request came, "" for the main port.
func (s *Service) create(ctx context.Context, caller, via string, c Create) (Batch, error) {
	endpoint, err := s.endpoint(via, c.Endpoint)
	if err != nil {
		return Batch{}, err
	}
	file, st, err := s.file(ctx, caller, c.InputFileID, "input_file_id")
	if err != nil {
		return Batch{}, err
	}
	if file.Purpose != "batch" {
		return Batch{}, fault.Field("value_error", c.InputFileID, []any{"input_file_id"},
			"The file's purpose is %s, it must be batch", file.Purpose)
	}
	owner := jobs.Owner(caller)
	batches, err := st.batchIndex.Records(ctx, owner)
	if err != nil {
		return Batch{}, s.storage.Fault(err)
	}
	unfinished := 0
	for _, b := range batches {
		if !isFinal(b.Status) {
			unfinished++
		}
	}
	if unfinished >= maxUnfinished {
		return Batch{}, fault.New(fault.Invalid,
			"There are %d batches that have not ended, the most that a key may have: cancel some, or wait.", unfinished)
	}
	r := record{
		Owner: owner, Target: endpoint, InputBytes: file.Bytes, OutputLife: int64(s.config.KeepFiles / time.Second),
		Batch: Batch{
			ID: newID("batch_"), Object: "batch", Status: validating,
			Endpoint: c.Endpoint, InputFileID: c.InputFileID, CompletionWindow: c.CompletionWindow,
			Metadata: c.Metadata, CreatedAt: now(), ExpiresAt: new(now() + int64(completionWindow/time.Second)),
		},
	}
	if c.OutputExpiresAfter != nil {
		r.OutputLife = c.OutputExpiresAfter.Seconds
	}
	if err := st.batches.Create(ctx, r.key(), r); err != nil {
		return Batch{}, s.storage.Fault(err)
	}
	if err := st.pushStep(ctx, r.key(), stepCheck); err != nil { // the next sweep queues it
		s.program.Logger.Warn().Err(err).Str("batch", r.ID).Msg("a batch waits for the next sweep")
	}
	return r.Batch, nil
}

// endpoint returns the endpoint with a URL below a base address.
func (s *Service) endpoint(via, url string) (Endpoint, error) {
	var urls []string
	for _, e := range s.program.Endpoints(via) {
		if e.URL == url {
			return e, nil
		}
		urls = append(urls, e.URL)
	}
	slices.Sort(urls)
	return Endpoint{}, fault.OneOf(url, urls, "endpoint")
}

// batch returns a batch of a caller. Batches of other callers are not found.
func (s *Service) batch(ctx context.Context, caller, id string) (record, *stores, error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return record{}, nil, err
	}
	r, err := jobs.Find(ctx, st.batches, caller, id)
	if errors.Is(err, queue.ErrNone) {
		err = fault.Missing(fault.Batch, "No batch found with id '%s'.", fault.Clip(id)).Under("id")
	}
	return r, st, s.storage.Fault(err)
}

// list returns a page of a caller's batches.
func (s *Service) list(ctx context.Context, caller string, q query) (page jobs.Page[Batch], err error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return page, err
	}
	batches, err := st.batchIndex.Records(ctx, jobs.Owner(caller))
	if err != nil {
		return page, s.storage.Fault(err)
	}
	const defaultLimit, maxLimit = 20, 100
	keys, hasMore, err := cut(slices.Collect(maps.Keys(batches)), q, defaultLimit, maxLimit)
	if err != nil {
		return page, err
	}
	page, err = jobs.ReadPage(ctx, st.batches, keys, hasMore,
		func(r record) Batch { return r.Batch }, func(b Batch) string { return b.ID })
	return page, s.storage.Fault(err)
}

// cancel ends a batch before all of its lines are answered. It keeps the answers received so far.
func (s *Service) cancel(ctx context.Context, caller, id string) (Batch, error) {
	r, st, err := s.batch(ctx, caller, id)
	if err != nil {
		return Batch{}, err
	}
	r, err = st.batches.Change(ctx, r.key(), func(r *record) error {
		switch r.Status {
		case validating, inProgress:
			r.Status = cancelling
			r.CancellingAt = new(now())
			r.FinalStatus = cancelled
			return nil
		case cancelling:
			return queue.ErrUnchanged
		}
		return fault.New(fault.Invalid, "Cannot cancel a batch with status '%s'.", r.Status)
	})
	if err == nil {
		err = st.skipToFinish(ctx, r)
	}
	return r.Batch, s.storage.Fault(err)
}

// skipToFinish drops the tasks of a batch's unanswered lines and queues its finish step.
func (st *stores) skipToFinish(ctx context.Context, r record) error {
	if err := st.chunks[r.Target.API].Drop(ctx, r.key()+".*"); err != nil {
		return err
	}
	return st.pushStep(ctx, r.key(), stepFinish)
}
