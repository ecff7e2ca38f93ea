package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Job is a job of a gateway, with the fields that a list shows.
type Job struct {
	Raw       json.RawMessage // the gateway's answer
	ID        string
	Kind      string // "batch", "latent" or "masked"
	Status    string
	CreatedAt int64  // Unix time in seconds
	Progress  string // such as "3/10"
}

// errNoJob means that a job does not exist, or belongs to another key.
var errNoJob = errors.New("there is no such job")

// jobKind is a kind of jobs.
type jobKind struct {
	name   string
	prefix string // of ids
	path   string
}

var jobKinds = []jobKind{
	{"batch", "batch_", "/v1/batches"},
	{"latent", "job_", "/latent/generate/jobs"},
	{"masked", "job_", "/masked/generate/jobs"},
}

// Jobs returns the newest jobs of all kinds, at most limit, newest first. Like Job and CancelJob it does not retry.
func (s *Service) Jobs(ctx context.Context, limit int) ([]Job, error) {
	var all []Job
	for _, kind := range jobKinds {
		jobs, err := s.listJobs(ctx, kind, limit)
		if err != nil && !errors.Is(err, errNoJob) { // errNoJob: this kind of job is switched off
			return nil, err
		}
		all = append(all, jobs...)
	}
	slices.SortStableFunc(all, func(a, b Job) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return all[:min(limit, len(all))], nil
}

// listJobs returns the newest jobs of one kind: at least limit, unless there are fewer.
func (s *Service) listJobs(ctx context.Context, kind jobKind, limit int) ([]Job, error) {
	var jobs []Job
	for {
		query := url.Values{"limit": {"100"}}
		if len(jobs) > 0 {
			query.Set("after", jobs[len(jobs)-1].ID)
		}
		body, err := s.receiveJob(ctx, http.MethodGet, kind.path+"?"+query.Encode(), nil)
		if err != nil {
			return nil, err
		}
		var page struct {
			Data    []json.RawMessage `json:"data"`
			HasMore bool              `json:"has_more"`
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", kind.path, err)
		}
		for _, raw := range page.Data {
			jobs = append(jobs, decodeJob(kind.name, raw))
		}
		if !page.HasMore || len(page.Data) == 0 || len(jobs) >= limit {
			return jobs, nil
		}
	}
}

// Job returns a job.
func (s *Service) Job(ctx context.Context, id string) (Job, error) {
	return s.findJob(ctx, http.MethodGet, id, "", nil)
}

// CancelJob cancels a job and returns it.
func (s *Service) CancelJob(ctx context.Context, id string) (Job, error) {
	return s.findJob(ctx, http.MethodPost, id, "/cancel", nil)
}

// pollInterval is the time between two looks at a job that is awaited.
const pollInterval = 500 * time.Millisecond

// JobError is the error of a job that ends without its whole result.
type JobError struct {
	ID     string
	Status string // "failed" or "cancelled"
	Reason string // JSON; "" if the gateway gives none
}

func (e *JobError) Error() string {
	return fmt.Sprintf("%s: status %s: %.300s", e.ID, e.Status, e.Reason)
}

// RunSearch submits a search as a job to a path such as /latent/generate/jobs, waits for its end and returns its
// result. A job that fails is a [*JobError]. RunSearch retries like Post. The body, not OnAnswer, asks for a manifest.
// If ctx ends, it cancels the job.
func (s *Service) RunSearch(ctx context.Context, path string, body any) (result json.RawMessage, err error) {
	without := *s
	without.OnAnswer = nil
	s = &without
	var job struct {
		ID     string          `json:"id"`
		Status string          `json:"status"`
		Error  json.RawMessage `json:"error"`
	}
	if err := s.Post(ctx, path, body, &job); err != nil {
		return nil, err
	}
	path += "/" + url.PathEscape(job.ID)
	for {
		switch job.Status {
		case "completed":
			err = s.Get(ctx, path+"/result", &result)
			return result, err
		case "failed", "cancelled":
			return nil, &JobError{ID: job.ID, Status: job.Status, Reason: string(job.Error)}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollInterval):
			err = s.Get(ctx, path, &job)
		}
		if ctx.Err() != nil {
			return nil, errors.Join(context.Cause(ctx), s.abandon(ctx, job.ID))
		}
		if err != nil {
			return nil, err
		}
	}
}

// abandonTimeout bounds the call that cancels a job nobody waits for any more.
const abandonTimeout = 5 * time.Second

// abandon cancels a job after ctx has ended. The error says that the job may go on.
func (s *Service) abandon(ctx context.Context, id string) error {
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), abandonTimeout)
	defer end()
	if _, err := s.CancelJob(ctx, id); err != nil {
		return fmt.Errorf("%s was not cancelled: %w", id, err)
	}
	return nil
}

// findJob sends a request to the path of a job with a suffix, in each kind that the id may belong to. body may be nil.
func (s *Service) findJob(ctx context.Context, method, id, suffix string, body []byte) (Job, error) {
	for _, kind := range jobKinds {
		if !strings.HasPrefix(id, kind.prefix) {
			continue
		}
		answer, err := s.receiveJob(ctx, method, kind.path+"/"+url.PathEscape(id)+suffix, body)
		if errors.Is(err, errNoJob) {
			continue
		}
		return decodeJob(kind.name, answer), err
	}
	return Job{}, fmt.Errorf("%s: %w", id, errNoJob)
}

// receiveJob sends one request. An answer with status 404 is errNoJob.
func (s *Service) receiveJob(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	answer, err := s.receive(ctx, method, path, body)
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Status == http.StatusNotFound {
		return nil, errNoJob
	}
	return answer, err
}

// decodeJob decodes the fields that a list shows. Missing members stay empty.
func decodeJob(kind string, raw json.RawMessage) Job {
	var answer struct {
		ID        string `json:"id"`
		Status    string `json:"status"`
		CreatedAt int64  `json:"created_at"`
		Counts    *struct {
			Total     int `json:"total"`
			Completed int `json:"completed"`
			Failed    int `json:"failed"`
		} `json:"request_counts"`
		Progress *struct {
			Iteration  int `json:"iteration"`
			Iterations int `json:"iterations"`
		} `json:"progress"`
	}
	_ = json.Unmarshal(raw, &answer)
	job := Job{Raw: raw, ID: answer.ID, Kind: kind, Status: answer.Status, CreatedAt: answer.CreatedAt}
	switch {
	case answer.Counts != nil:
		job.Progress = fmt.Sprintf("%d/%d", answer.Counts.Completed+answer.Counts.Failed, answer.Counts.Total)
	case answer.Progress != nil:
		job.Progress = fmt.Sprintf("%d/%d", answer.Progress.Iteration, answer.Progress.Iterations)
	}
	return job
}
