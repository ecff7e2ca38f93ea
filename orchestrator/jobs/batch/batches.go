package batch

import (
	"context"
	"errors"
	"slices"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs/queue"
)

// record is what is kept of a batch.
type record struct {
	Batch
	Owner       string   `json:"owner"`
	Ask         Endpoint `json:"ask"`
	InputBytes  int64    `json:"input_bytes"`
	OutputLife  int64    `json:"output_life"` // seconds
	Chunks      int      `json:"chunks"`
	Done        []byte   `json:"done"`      // a bit for each chunk
	Ending      string   `json:"ending"`    // what it becomes once it is finalized
	ValidatedAt int64    `json:"validated"` // when all tasks of its lines were there; 0: not yet
}

func (r record) key() string { return r.Owner + "." + r.ID }

// ended reports whether nothing about the batch will change any more.
func (r record) ended() bool { return ended(r.Status) }

func ended(status string) bool {
	return slices.Contains([]string{failed, completed, expired, cancelled}, status)
}

// window is how long a batch may take.
const window = 24 * time.Hour

// How many batches a key may have that have not ended, and how many of those that have are kept: the oldest go first.
const (
	maxOpen  = 2_000
	maxEnded = 10_000
)

// Validate checks what needs no store.
func (c *Create) Validate() error {
	var problems fault.Problems
	problems.Add(fault.Text(c.InputFileID, "input_file_id"), fault.Text(c.Endpoint, "endpoint"))
	if len(c.Metadata) > 16 {
		problems.Add(fault.Field("too_long", nil, []any{"metadata"}, "Dictionary should have at most 16 items after validation, not %d", len(c.Metadata)))
	}
	for name, value := range c.Metadata {
		if len(name) > 64 || len(value) > 512 {
			problems.Add(fault.Field("string_too_long", nil, []any{"metadata", fault.Clip(name)}, "A key should have at most 64 characters, a value 512"))
		}
	}
	if c.OutputExpiresAfter != nil {
		problems.Add(checkExpiry(c.OutputExpiresAfter, "output_expires_after")...)
	}
	return problems.Err()
}

// create makes a batch. via is the API on whose port it was asked for, "" on the main port.
func (s *Service) create(ctx context.Context, caller, via string, c Create) (Batch, error) {
	st, err := s.open(ctx)
	if err != nil {
		return Batch{}, err
	}
	endpoint, err := s.endpoint(via, c.Endpoint)
	if err != nil {
		return Batch{}, err
	}
	file, err := s.file(ctx, st, caller, c.InputFileID, "input_file_id")
	if err != nil {
		return Batch{}, err
	}
	if file.Purpose != "batch" {
		return Batch{}, fault.Field("value_error", c.InputFileID, []any{"input_file_id"}, "The file's purpose is %s, it must be batch", file.Purpose)
	}
	open, err := st.outlines.Count(ctx, owner(caller), func(o outline) bool { return !o.ended() })
	if err != nil {
		return Batch{}, trouble(err)
	}
	if open >= maxOpen {
		return Batch{}, fault.New(fault.Invalid, "There are %d batches that have not ended, the most that a key may have: cancel some, or wait.", open)
	}
	r := record{Owner: owner(caller), Ask: endpoint, InputBytes: file.Bytes, OutputLife: int64(s.config.KeepFiles / time.Second)}
	if c.OutputExpiresAfter != nil {
		r.OutputLife = c.OutputExpiresAfter.Seconds
	}
	r.Batch = Batch{
		ID: newID("batch_"), Object: "batch", Endpoint: c.Endpoint, InputFileID: c.InputFileID, CompletionWindow: c.CompletionWindow,
		Status: validating, CreatedAt: now(), ExpiresAt: pointer(now() + int64(window/time.Second)), Metadata: c.Metadata,
	}
	if err := st.batches.Create(ctx, r.key(), r); err != nil {
		return Batch{}, trouble(err)
	}
	if err := st.pushStep(ctx, r.key(), stepCheck); err != nil { // the next sweep does it
		s.outside.Logger.Warn().Err(err).Str("batch", r.ID).Msg("a batch waits for the next sweep")
	}
	return r.Batch, nil
}

// endpoint finds an endpoint of a base address.
func (s *Service) endpoint(via, url string) (Endpoint, error) {
	var urls []string
	for _, e := range s.outside.Endpoints(via) {
		if e.URL == url {
			return e, nil
		}
		urls = append(urls, e.URL)
	}
	slices.Sort(urls)
	return Endpoint{}, fault.OneOf(url, urls, "endpoint")
}

// batch returns a batch of a caller. One of another caller's is not there.
func (s *Service) batch(ctx context.Context, st *stores, caller, id string) (record, error) {
	if plainID(id) {
		r, err := st.batches.Get(ctx, owner(caller)+"."+id)
		if err == nil || !errors.Is(err, queue.ErrNone) {
			return r, trouble(err)
		}
	}
	return record{}, fault.Missing(fault.Batch, "No batch found with id '%s'.", fault.Clip(id)).Under("id")
}

func (s *Service) retrieve(ctx context.Context, caller, id string) (Batch, error) {
	st, err := s.open(ctx)
	if err != nil {
		return Batch{}, err
	}
	r, err := s.batch(ctx, st, caller, id)
	return r.Batch, err
}

func (s *Service) list(ctx context.Context, caller string, q query) (page Page[Batch], err error) {
	st, err := s.open(ctx)
	if err != nil {
		return page, err
	}
	batches := []outline{}
	err = st.outlines.Each(ctx, owner(caller), func(_ string, o outline) error {
		batches = append(batches, o)
		return nil
	})
	if err != nil {
		return page, trouble(err)
	}
	found, err := paged(batches, q, 20, 100, func(o outline) (int64, string) { return o.createdAt, o.id })
	if err != nil {
		return page, err
	}
	page = Page[Batch]{Object: found.Object, Data: []Batch{}, FirstID: found.FirstID, LastID: found.LastID, HasMore: found.HasMore}
	for _, o := range found.Data {
		r, err := st.batches.Get(ctx, o.key())
		if err != nil && !errors.Is(err, queue.ErrNone) { // ErrNone: it has just been deleted
			return page, trouble(err)
		}
		if err == nil {
			page.Data = append(page.Data, r.Batch)
		}
	}
	return page, nil
}

// cancel ends a batch before all of its lines are answered. What was answered is kept.
func (s *Service) cancel(ctx context.Context, caller, id string) (Batch, error) {
	st, err := s.open(ctx)
	if err != nil {
		return Batch{}, err
	}
	r, err := s.batch(ctx, st, caller, id)
	if err != nil {
		return Batch{}, err
	}
	r, err = st.batches.Change(ctx, r.key(), func(r *record) error {
		switch r.Status {
		case validating, inProgress:
			r.Status = cancelling
			r.CancellingAt = pointer(now())
			r.Ending = cancelled
			return nil
		case cancelling:
			return queue.ErrUnchanged
		}
		return fault.New(fault.Invalid, "Cannot cancel a batch with status '%s'.", r.Status)
	})
	if err == nil {
		err = s.end(ctx, st, r)
	}
	return r.Batch, trouble(err)
}

// end has what was answered put together, and its other lines forgotten.
func (s *Service) end(ctx context.Context, st *stores, r record) error {
	if err := st.lines[r.Ask.API].Drop(ctx, r.key()+".*"); err != nil {
		return err
	}
	return st.pushStep(ctx, r.key(), stepFinish)
}
