package batch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
)

// fileRecord is the stored state of a file, whose content is stored under its id.
type fileRecord struct {
	File
	Owner string `json:"owner"`
	Batch string `json:"batch,omitempty"` // key of the batch that the file is a result of
}

func (r fileRecord) key() string { return r.Owner + "." + r.ID }

func (r fileRecord) isExpired() bool { return r.ExpiresAt != nil && *r.ExpiresAt <= now() }

// maxFiles is the maximum number of files of an owner, and of files on a page of a list.
const maxFiles = 10_000

// checkQuota returns an error if one more file of size bytes would exceed the quota of its owner.
func (s *Service) checkQuota(ctx context.Context, st *stores, caller string, size int64) error {
	used, err := jobs.UsageOf(ctx, st.fileIndex, jobs.Owner(caller), func(r fileRecord) int64 { return r.Bytes })
	if err != nil {
		return err
	}
	used.Bytes += size
	if used.Records >= maxFiles {
		return fault.New(fault.Invalid,
			"There are %d files already, the most that a key may have: delete some first.", used.Records)
	}
	if limit := st.engine.OwnerLimit(); caller != "" && used.Bytes > limit {
		return fault.New(fault.Invalid,
			"With this file the files of this key would take %d bytes, %d are allowed: delete some first.",
			used.Bytes, limit)
	}
	return nil
}

// file returns a file of a caller. Files of other callers, and expired ones, are not found; field names the id.
func (s *Service) file(ctx context.Context, st *stores, caller, id, field string) (fileRecord, error) {
	if jobs.IsID(id) {
		r, err := st.files.Get(ctx, jobs.Owner(caller)+"."+id)
		if err == nil && !r.isExpired() {
			return r, nil
		}
		if err != nil && !errors.Is(err, queue.ErrNone) {
			return fileRecord{}, s.storage.Fault(err)
		}
	}
	return fileRecord{}, fault.Missing(fault.File, "No such File object: %s", fault.Clip(id)).Under(field)
}

// openFile returns a file of a caller by the id in a path.
func (s *Service) openFile(ctx context.Context, caller, id string) (fileRecord, *stores, error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return fileRecord{}, nil, err
	}
	r, err := s.file(ctx, st, caller, id, "id")
	return r, st, err
}

// read returns a file with a reader of its content.
func (s *Service) read(ctx context.Context, caller, id string) (File, io.Reader, error) {
	r, st, err := s.openFile(ctx, caller, id)
	if err != nil {
		return File{}, nil, err
	}
	return r.File, st.content.Open(ctx, id, r.Bytes), nil
}

// deleteFile deletes a file, unless a batch that has not ended reads it.
func (s *Service) deleteFile(ctx context.Context, caller, id string) (Deleted, error) {
	r, st, err := s.openFile(ctx, caller, id)
	if err != nil {
		return Deleted{}, err
	}
	err = st.outlines.Each(ctx, r.Owner, func(_ string, b outline) error {
		if b.input == id && !isFinal(b.status) {
			return fault.New(fault.Invalid, "The file is read by %s, which has not ended: cancel that first.", b.id)
		}
		return nil
	})
	if err == nil {
		err = st.dropFile(ctx, r)
	}
	if err != nil {
		return Deleted{}, s.storage.Fault(err)
	}
	return Deleted{ID: id, Object: "file", Deleted: true}, nil
}

// dropFile deletes a file, its record first: a sweep finds content without a record.
func (st *stores) dropFile(ctx context.Context, r fileRecord) error {
	if err := st.files.Delete(ctx, r.key()); err != nil {
		return err
	}
	return st.content.Delete(ctx, r.ID)
}

// listFiles returns a page of a caller's files.
func (s *Service) listFiles(ctx context.Context, caller string, q query) (page jobs.Page[File], err error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return page, err
	}
	files := []File{}
	err = st.fileIndex.Each(ctx, jobs.Owner(caller), func(_ string, r fileRecord) error {
		if (q.purpose == "" || r.Purpose == q.purpose) && !r.isExpired() {
			files = append(files, r.File)
		}
		return nil
	})
	if err != nil {
		return page, s.storage.Fault(err)
	}
	files, hasMore, err := cut(files, q, maxFiles, maxFiles, File.age)
	if err != nil {
		return page, err
	}
	return jobs.NewPage(files, hasMore, func(f File) string { return f.ID }), nil
}

// query has the parameters of a list, "" for those that are not given.
type query struct{ after, limit, order, purpose string }

// age is the order of a list: by creation, then by id.
type age struct {
	createdAt int64
	id        string
}

func (f File) age() age { return age{f.CreatedAt, f.ID} }

func (a age) compare(b age) int {
	return cmp.Or(cmp.Compare(a.createdAt, b.createdAt), cmp.Compare(a.id, b.id))
}

// cut sorts all items of a list and returns those on the requested page, and whether more follow. A page has at most
// q.limit items, of 1 to maxLimit.
func cut[Item any](
	items []Item, q query, defaultLimit, maxLimit int, ageOf func(Item) age,
) (page []Item, hasMore bool, err error) {
	limit := defaultLimit
	if q.limit != "" {
		limit, err = strconv.Atoi(q.limit)
		if err != nil {
			return nil, false, fault.Field("int_parsing", q.limit, []any{"limit"}, "Input should be a valid integer")
		}
		if f := fault.Between(limit, 1, maxLimit, "limit"); f != nil {
			return nil, false, f
		}
	}
	order := cmp.Or(q.order, "desc")
	if f := fault.OneOf(order, []string{"asc", "desc"}, "order"); f != nil {
		return nil, false, f
	}
	slices.SortFunc(items, func(a, b Item) int { return ageOf(a).compare(ageOf(b)) })
	if order == "desc" {
		slices.Reverse(items)
	}
	if q.after != "" {
		at := slices.IndexFunc(items, func(i Item) bool { return ageOf(i).id == q.after })
		if at < 0 {
			return nil, false, fault.Missing(fault.Cursor,
				"There is nothing with the id %s in this list.", fault.Clip(q.after)).Under("after")
		}
		items = items[at+1:]
	}
	return items[:min(limit, len(items))], len(items) > limit, nil
}
