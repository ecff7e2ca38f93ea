package batch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

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
	quota := jobs.Quota{
		Noun: "file", MaxRecords: maxFiles, MaxBytes: st.engine.OwnerLimit(), Kind: fault.Invalid,
		Hint: ": delete some first.",
	}
	return jobs.CheckQuota(ctx, quota, st.fileIndex, caller, size, func(r fileRecord) int64 { return r.Bytes })
}

// file returns a file of a caller. Files of other callers, and expired ones, are not found; field names the id.
func (s *Service) file(ctx context.Context, caller, id, field string) (fileRecord, *stores, error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return fileRecord{}, nil, err
	}
	r, err := jobs.Find(ctx, st.files, caller, id)
	if errors.Is(err, queue.ErrNone) || err == nil && r.isExpired() {
		err = fault.Missing(fault.File, "No such File object: %s", fault.Clip(id)).Under(field)
	}
	return r, st, s.storage.Fault(err)
}

// read returns a file with a reader of its content.
func (s *Service) read(ctx context.Context, caller, id string) (File, io.Reader, error) {
	r, st, err := s.file(ctx, caller, id, "id")
	if err != nil {
		return File{}, nil, err
	}
	return r.File, st.content.Open(ctx, id, r.Bytes), nil
}

// deleteFile deletes a file, unless a batch that has not ended reads it.
func (s *Service) deleteFile(ctx context.Context, caller, id string) (Deleted, error) {
	r, st, err := s.file(ctx, caller, id, "id")
	if err != nil {
		return Deleted{}, err
	}
	batches, err := st.batchIndex.Records(ctx, r.Owner)
	if err != nil {
		return Deleted{}, s.storage.Fault(err)
	}
	for _, b := range batches {
		if b.InputFileID == id && !isFinal(b.Status) {
			return Deleted{}, fault.New(fault.Invalid,
				"The file is read by %s, which has not ended: cancel that first.", b.ID)
		}
	}
	if err := st.dropFile(ctx, r); err != nil {
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
	records, err := st.fileIndex.Records(ctx, jobs.Owner(caller))
	if err != nil {
		return page, s.storage.Fault(err)
	}
	maps.DeleteFunc(records, func(_ string, r fileRecord) bool {
		return r.isExpired() || q.purpose != "" && r.Purpose != q.purpose
	})
	keys, hasMore, err := cut(slices.Collect(maps.Keys(records)), q, maxFiles, maxFiles)
	if err != nil {
		return page, err
	}
	files := make([]File, len(keys))
	for i, key := range keys {
		files[i] = records[key].File
	}
	return jobs.NewPage(files, hasMore, func(f File) string { return f.ID }), nil
}

// query has the parameters of a list, "" for those that are not given.
type query struct{ after, limit, order, purpose string }

// cut sorts the keys of an owner's records, and so by age, and returns those on the requested page, and whether more
// follow. A page has at most q.limit items, of 1 to maxLimit.
func cut(keys []string, q query, defaultLimit, maxLimit int) (page []string, hasMore bool, err error) {
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
	slices.Sort(keys)
	if order == "desc" {
		slices.Reverse(keys)
	}
	if q.after != "" {
		at := slices.IndexFunc(keys, func(key string) bool { return strings.HasSuffix(key, "."+q.after) })
		if at < 0 {
			return nil, false, fault.Missing(fault.Cursor,
				"There is nothing with the id %s in this list.", fault.Clip(q.after)).Under("after")
		}
		keys = keys[at+1:]
	}
	return keys[:min(limit, len(keys))], len(keys) > limit, nil
}
