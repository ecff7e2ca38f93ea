package batch

import (
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
	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
)

// Bounds of an upload.
const (
	maxFilename  = 255             // bytes
	maxFormValue = 1 << 10         // bytes
	formOverhead = int64(64 << 10) // bytes of a form around its file
	minLifetime  = 3600            // seconds
	maxLifetime  = 30 * 24 * 3600  // seconds
	// maxUploadTime is the timeout of the endpoint.
	maxUploadTime = time.Hour
)

// form is an uploaded form without the content of its file.
type form struct {
	hasFile  bool
	filename string
	size     int64 // of the file, in bytes
	purpose  string
	anchor   string
	seconds  string
}

// upload stores a file. The parts of a form come in any order, so the content is stored before the form is validated.
func (s *Service) upload(ctx context.Context, caller, contentType string, body io.Reader) (File, error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return File{}, err
	}
	mediaType, parameters, err := mime.ParseMediaType(contentType)
	if err != nil || mediaType != "multipart/form-data" || parameters["boundary"] == "" {
		return File{}, fault.New(fault.Invalid, "A file is uploaded as multipart/form-data.")
	}
	r := fileRecord{
		Owner: jobs.Owner(caller),
		File:  File{ID: newID("file-"), Object: "file", CreatedAt: now(), Status: "processed"},
	}
	f, err := s.readForm(ctx, st, r.ID, multipart.NewReader(body, parameters["boundary"]))
	if err == nil {
		err = s.applyForm(&r, f)
	}
	if err == nil {
		err = s.checkQuota(ctx, st, caller, r.Bytes)
	}
	if err == nil {
		err = st.files.Create(ctx, r.key(), r)
	}
	if err != nil {
		_ = st.content.Delete(context.WithoutCancel(ctx), r.ID) // a sweep finds what is left
		var broken *brokenBodyError
		if errors.As(err, &broken) {
			return File{}, broken.error
		}
		return File{}, s.storage.Fault(err)
	}
	return r.File, nil
}

// readForm reads a form and stores the content of its file under an id.
func (s *Service) readForm(ctx context.Context, st *stores, id string, parts *multipart.Reader) (f form, err error) {
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return f, nil
		}
		if err != nil {
			return f, formError(err)
		}
		switch {
		case part.FormName() != "file":
			err = f.readField(part)
		case f.hasFile:
			err = fault.Field("too_many", nil, []any{"file"}, "One file is uploaded at a time")
		default:
			f.hasFile = true
			f.filename = part.FileName()
			content := &boundedReader{from: part, left: s.config.FileBytes, bound: s.config.FileBytes}
			f.size, err = st.content.Write(ctx, queue.Input, id, content)
		}
		if err != nil {
			return f, err
		}
	}
}

// brokenBodyError is the error of a body that ended too early or too late. The gateway renders it.
type brokenBodyError struct{ error }

func (e *brokenBodyError) Unwrap() error { return e.error }

// formError converts an error of reading a form to a fault or a brokenBodyError.
func formError(err error) error {
	var known *fault.Error
	if errors.As(err, &known) {
		return err
	}
	broken := []error{io.ErrUnexpectedEOF, context.Canceled, context.DeadlineExceeded, os.ErrDeadlineExceeded}
	if slices.ContainsFunc(broken, func(cause error) bool { return errors.Is(err, cause) }) {
		return &brokenBodyError{err}
	}
	return fault.Wrap(fault.Invalid, err, "The form is broken: a part of multipart/form-data was expected.")
}

// readField reads one value of the form. Unknown names are ignored.
func (f *form) readField(part *multipart.Part) error {
	value, err := io.ReadAll(io.LimitReader(part, maxFormValue+1))
	if err != nil {
		return formError(err)
	}
	if len(value) > maxFormValue {
		return fault.Field("string_too_long", nil, []any{part.FormName()},
			"String should have at most %d characters", maxFormValue)
	}
	switch part.FormName() {
	case "purpose":
		f.purpose = string(value)
	case "expires_after[anchor]":
		f.anchor = string(value)
	case "expires_after[seconds]":
		f.seconds = string(value)
	case "expires_after": // as one JSON object
		var expiry struct {
			Anchor  string      `json:"anchor"`
			Seconds json.Number `json:"seconds"`
		}
		if json.Unmarshal(value, &expiry) != nil {
			return fault.Field("model_attributes_type", nil, []any{"expires_after"},
				"Input should be a valid dictionary")
		}
		f.anchor = expiry.Anchor
		f.seconds = expiry.Seconds.String()
	}
	return nil
}

// boundedReader fails beyond a number of bytes.
type boundedReader struct {
	from        io.Reader
	left, bound int64
}

func (r *boundedReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if r.left -= int64(n); r.left < 0 {
		return 0, fault.New(fault.TooLarge, "The file is larger than the limit of %d bytes.", r.bound).Under("file")
	}
	if err != nil && err != io.EOF {
		err = formError(err)
	}
	return n, err
}

// applyForm validates a form and completes the file's record with it.
func (s *Service) applyForm(r *fileRecord, f form) error {
	var problems fault.Problems
	if !f.hasFile {
		problems.Add(fault.Field("missing", nil, []any{"file"}, "Field required"))
	}
	if f.purpose == "" {
		problems.Add(fault.Field("missing", nil, []any{"purpose"}, "Field required"))
	} else {
		problems.Add(fault.OneOf(f.purpose, []string{"batch"}, "purpose"))
	}
	lifetime := int64(s.config.KeepFiles / time.Second)
	if f.anchor != "" || f.seconds != "" {
		seconds, err := strconv.ParseInt(f.seconds, 10, 64)
		if err != nil {
			problems.Add(fault.Field("int_parsing", f.seconds, []any{"expires_after", "seconds"},
				"Input should be a valid integer"))
		}
		lifetime = seconds
		problems.Add(checkExpiry(&ExpiresAfter{Anchor: f.anchor, Seconds: seconds}, "expires_after")...)
	}
	r.Bytes = f.size
	r.Filename = strings.ToValidUTF8(f.filename[:min(len(f.filename), maxFilename)], "")
	r.Purpose = f.purpose
	r.ExpiresAt = new(r.CreatedAt + lifetime)
	return problems.Err()
}

func checkExpiry(e *ExpiresAfter, name string) []*fault.Error {
	return []*fault.Error{
		fault.OneOf(e.Anchor, []string{"created_at"}, name, "anchor"),
		fault.Between(e.Seconds, minLifetime, maxLifetime, name, "seconds"),
	}
}
