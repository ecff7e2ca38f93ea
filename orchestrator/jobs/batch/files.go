package batch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs/queue"
)

// fileRecord is what is kept of a file beside its content.
type fileRecord struct {
	File
	Owner string `json:"owner"`
	Batch string `json:"batch,omitempty"` // key of the batch whose result it is
}

func (r fileRecord) key() string { return r.Owner + "." + r.ID }

// Bounds of files.
const (
	maxFiles     = 10_000 // of one key
	maxFilename  = 255    // bytes
	maxFormValue = 1 << 10
	leastLife    = 3600            // seconds
	longestLife  = 30 * 24 * 3600  // seconds
	formOverhead = int64(64 << 10) // what a form takes beside its file
)

// form is an uploaded form once it was read.
type form struct {
	file    bool // there was one
	name    string
	size    int64
	purpose string
	anchor  string
	seconds string
}

// upload stores a file. The form's parts may come in any order, so its content is written first.
func (s *Service) upload(ctx context.Context, caller, contentType string, body io.Reader) (File, error) {
	st, err := s.open(ctx)
	if err != nil {
		return File{}, err
	}
	kind, about, err := mime.ParseMediaType(contentType)
	if err != nil || kind != "multipart/form-data" || about["boundary"] == "" {
		return File{}, fault.New(fault.Invalid, "A file is uploaded as multipart/form-data.")
	}
	r := fileRecord{Owner: owner(caller), File: File{ID: newID("file-"), Object: "file", CreatedAt: now(), Status: "processed"}}
	parts := multipart.NewReader(body, about["boundary"])
	f, err := s.readForm(ctx, st, r.ID, parts)
	if err == nil {
		err = s.complete(&r, f)
	}
	if err == nil {
		err = s.mayAddFile(ctx, st, caller, r.Bytes)
	}
	if err == nil {
		err = st.files.Create(ctx, r.key(), r)
	}
	if err != nil {
		_ = st.content.Delete(context.WithoutCancel(ctx), r.ID) // the next sweep finds what is left
		var cut *cutOff
		if errors.As(err, &cut) {
			return File{}, cut.error // which the gateway words
		}
		return File{}, trouble(err)
	}
	return r.File, nil
}

// readForm stores the content of the form's file under an id and returns the rest.
func (s *Service) readForm(ctx context.Context, st *stores, id string, parts *multipart.Reader) (f form, err error) {
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return f, nil
		}
		if err != nil {
			return f, broken(err)
		}
		if part.FormName() != "file" {
			err = f.field(part)
		} else if f.file {
			err = fault.Field("too_many", nil, []any{"file"}, "One file is uploaded at a time")
		} else {
			f.file = true
			f.name = part.FileName()
			f.size, err = st.content.Write(ctx, queue.Input, id, &bounded{Reader: part, left: s.config.FileBytes, most: s.config.FileBytes})
		}
		if err != nil {
			return f, err
		}
	}
}

// cutOff is what ended a body before its end. It says nothing about the storage.
type cutOff struct{ error }

func (c *cutOff) Unwrap() error { return c.error }

// cuts are the errors of a body that did not come, or not in time; a fault ends it too.
var cuts = []error{io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded}

// broken makes a fault of a form that cannot be read.
func broken(err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	if slices.ContainsFunc(cuts, func(cut error) bool { return errors.Is(err, cut) }) {
		return &cutOff{err}
	}
	return fault.Wrap(fault.Invalid, err, "The form is broken: a part of multipart/form-data was expected.")
}

// field takes a value of the form; those that are not known are read over.
func (f *form) field(part *multipart.Part) error {
	value, err := io.ReadAll(io.LimitReader(part, maxFormValue+1))
	if err != nil {
		return broken(err)
	}
	if len(value) > maxFormValue {
		return fault.Field("string_too_long", nil, []any{part.FormName()}, "String should have at most %d characters", maxFormValue)
	}
	switch part.FormName() {
	case "purpose":
		f.purpose = string(value)
	case "expires_after[anchor]":
		f.anchor = string(value)
	case "expires_after[seconds]":
		f.seconds = string(value)
	case "expires_after": // as one JSON object
		var e struct {
			Anchor  string      `json:"anchor"`
			Seconds json.Number `json:"seconds"`
		}
		if json.Unmarshal(value, &e) != nil {
			return fault.Field("model_attributes_type", nil, []any{"expires_after"}, "Input should be a valid dictionary")
		}
		f.anchor = e.Anchor
		f.seconds = e.Seconds.String()
	}
	return nil
}

// bounded fails beyond the largest file.
type bounded struct {
	io.Reader
	left, most int64
}

func (b *bounded) Read(into []byte) (int, error) {
	n, err := b.Reader.Read(into)
	if b.left -= int64(n); b.left < 0 {
		return 0, fault.New(fault.TooLarge, "The file is larger than the limit of %d bytes.", b.most).Under("file")
	}
	if err != nil && err != io.EOF {
		err = broken(err)
	}
	return n, err
}

// complete checks what a form says and puts it into the record.
func (s *Service) complete(r *fileRecord, f form) error {
	var problems fault.Problems
	if !f.file {
		problems.Add(fault.Field("missing", nil, []any{"file"}, "Field required"))
	}
	if f.purpose == "" {
		problems.Add(fault.Field("missing", nil, []any{"purpose"}, "Field required"))
	} else {
		problems.Add(fault.OneOf(f.purpose, []string{"batch"}, "purpose"))
	}
	life := int64(s.config.KeepFiles / time.Second)
	if f.anchor != "" || f.seconds != "" {
		seconds, err := strconv.ParseInt(f.seconds, 10, 64)
		if err != nil {
			problems.Add(fault.Field("int_parsing", f.seconds, []any{"expires_after", "seconds"}, "Input should be a valid integer"))
		}
		life = seconds
		problems.Add(checkExpiry(&ExpiresAfter{Anchor: f.anchor, Seconds: seconds}, "expires_after")...)
	}
	r.Bytes = f.size
	r.Filename = strings.ToValidUTF8(f.name[:min(len(f.name), maxFilename)], "")
	r.Purpose = f.purpose
	r.ExpiresAt = pointer(r.CreatedAt + life)
	return problems.Err()
}

func checkExpiry(e *ExpiresAfter, name string) []*fault.Error {
	return []*fault.Error{
		fault.OneOf(e.Anchor, []string{"created_at"}, name, "anchor"),
		fault.Between(e.Seconds, leastLife, longestLife, name, "seconds"),
	}
}

// mayAddFile returns an error if one more file of that size would exceed the bounds of its owner.
func (s *Service) mayAddFile(ctx context.Context, st *stores, caller string, size int64) error {
	files := 0
	bytes := size
	err := st.fileIndex.Each(ctx, owner(caller), func(_ string, r fileRecord) error {
		files++
		bytes += r.Bytes
		return nil
	})
	if err != nil {
		return err
	}
	if files >= maxFiles {
		return fault.New(fault.Invalid, "There are %d files already, the most that a key may have: delete some first.", files)
	}
	if limit := st.engine.OwnerLimit(); caller != "" && bytes > limit {
		return fault.New(fault.Invalid, "With this file the files of this key would take %d bytes, %d are allowed: delete some first.", bytes, limit)
	}
	return nil
}

// file returns a file of a caller. One of another caller's is not there.
func (s *Service) file(ctx context.Context, st *stores, caller, id, field string) (fileRecord, error) {
	if plainID(id) {
		r, err := st.files.Get(ctx, owner(caller)+"."+id)
		if err == nil && (r.ExpiresAt == nil || *r.ExpiresAt > now()) {
			return r, nil
		}
		if err != nil && !errors.Is(err, queue.ErrNone) {
			return fileRecord{}, trouble(err)
		}
	}
	return fileRecord{}, fault.Missing(fault.File, "No such File object: %s", fault.Clip(id)).Under(field)
}

// plainID says whether a text may be an id of ours, and so a part of a record's key.
func plainID(id string) bool {
	return id != "" && len(id) <= 64 && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

func (s *Service) retrieveFile(ctx context.Context, caller, id string) (File, error) {
	st, err := s.open(ctx)
	if err != nil {
		return File{}, err
	}
	r, err := s.file(ctx, st, caller, id, "id")
	return r.File, err
}

// read returns a file with a reader of its content.
func (s *Service) read(ctx context.Context, caller, id string) (File, io.Reader, error) {
	st, err := s.open(ctx)
	if err != nil {
		return File{}, nil, err
	}
	r, err := s.file(ctx, st, caller, id, "id")
	if err != nil {
		return File{}, nil, err
	}
	return r.File, st.content.Open(ctx, id, r.Bytes), nil
}

// deleteFile removes a file, unless a batch that has not ended reads it.
func (s *Service) deleteFile(ctx context.Context, caller, id string) (Deleted, error) {
	st, err := s.open(ctx)
	if err != nil {
		return Deleted{}, err
	}
	r, err := s.file(ctx, st, caller, id, "id")
	if err != nil {
		return Deleted{}, err
	}
	err = st.outlines.Each(ctx, r.Owner, func(_ string, b outline) error {
		if b.input == id && !b.ended() {
			return fault.New(fault.Invalid, "The file is read by %s, which has not ended: cancel that first.", b.id)
		}
		return nil
	})
	if err != nil {
		return Deleted{}, trouble(err)
	}
	if err := st.dropFile(ctx, r); err != nil {
		return Deleted{}, trouble(err)
	}
	return Deleted{ID: id, Object: "file", Deleted: true}, nil
}

// dropFile removes the record first: content without one is found by a sweep.
func (st *stores) dropFile(ctx context.Context, r fileRecord) error {
	if err := st.files.Delete(ctx, r.key()); err != nil {
		return err
	}
	return st.content.Delete(ctx, r.ID)
}

// query is what a list is asked for.
type query struct{ after, limit, order, purpose string }

func (s *Service) listFiles(ctx context.Context, caller string, q query) (page Page[File], err error) {
	st, err := s.open(ctx)
	if err != nil {
		return page, err
	}
	files := []File{}
	err = st.fileIndex.Each(ctx, owner(caller), func(_ string, r fileRecord) error {
		if (q.purpose == "" || r.Purpose == q.purpose) && (r.ExpiresAt == nil || *r.ExpiresAt > now()) {
			files = append(files, r.File)
		}
		return nil
	})
	if err != nil {
		return page, trouble(err)
	}
	return paged(files, q, maxFiles, maxFiles, func(f File) (int64, string) { return f.CreatedAt, f.ID })
}

// paged cuts a page out of all items: at most limit (of 1 to most, by default usual) after the item with the id after.
func paged[Item any](items []Item, q query, usual, most int, about func(Item) (created int64, id string)) (page Page[Item], err error) {
	limit := usual
	if q.limit != "" {
		limit, err = strconv.Atoi(q.limit)
		if err != nil {
			return page, fault.Field("int_parsing", q.limit, []any{"limit"}, "Input should be a valid integer")
		}
		if f := fault.Between(limit, 1, most, "limit"); f != nil {
			return page, f
		}
	}
	if f := fault.OneOf(cmp.Or(q.order, "desc"), []string{"asc", "desc"}, "order"); f != nil {
		return page, f
	}
	slices.SortFunc(items, func(a, b Item) int {
		createdA, idA := about(a)
		createdB, idB := about(b)
		way := cmp.Or(cmp.Compare(createdA, createdB), cmp.Compare(idA, idB))
		if q.order != "asc" {
			way = -way
		}
		return way
	})
	if q.after != "" {
		at := slices.IndexFunc(items, func(i Item) bool { _, id := about(i); return id == q.after })
		if at < 0 {
			return page, fault.Missing(fault.Cursor, "There is nothing with the id %s in this list.", fault.Clip(q.after)).Under("after")
		}
		items = items[at+1:]
	}
	page = Page[Item]{Object: "list", Data: items[:min(limit, len(items))], HasMore: len(items) > limit}
	if n := len(page.Data); n > 0 {
		_, first := about(page.Data[0])
		_, last := about(page.Data[n-1])
		page.FirstID = &first
		page.LastID = &last
	}
	return page, nil
}
