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
)

// Job is a job of a gateway, with what a list shows of it.
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

// jobKinds has the paths of all kinds of jobs, and the prefixes of their ids.
var jobKinds = []struct{ name, prefix, path string }{
	{"batch", "batch_", "/v1/batches"},
	{"latent", "job_", "/latent/generate/jobs"},
	{"masked", "job_", "/masked/generate/jobs"},
}

// Jobs returns at most limit jobs of all kinds, the newest first. Like Job and CancelJob it makes each request once.
func (s *Service) Jobs(ctx context.Context, limit int) (all []Job, err error) {
	for _, kind := range jobKinds {
		for after := ""; len(all) < 3*limit; {
			query := url.Values{"limit": {"100"}}
			if after != "" {
				query.Set("after", after)
			}
			var page struct {
				Data    []json.RawMessage `json:"data"`
				HasMore bool              `json:"has_more"`
			}
			body, err := s.receiveJob(ctx, http.MethodGet, kind.path+"?"+query.Encode())
			if errors.Is(err, errNoJob) {
				break // this kind of job is switched off
			}
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal(body, &page); err != nil {
				return nil, fmt.Errorf("%s: %w", kind.path, err)
			}
			for _, raw := range page.Data {
				job := decodeJob(kind.name, raw)
				after = job.ID
				all = append(all, job)
			}
			if !page.HasMore || len(page.Data) == 0 {
				break
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Job) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return all[:min(limit, len(all))], nil
}

// Job returns a job.
func (s *Service) Job(ctx context.Context, id string) (Job, error) {
	return s.findJob(ctx, http.MethodGet, id, "")
}

// CancelJob cancels a job and returns it.
func (s *Service) CancelJob(ctx context.Context, id string) (Job, error) {
	return s.findJob(ctx, http.MethodPost, id, "/cancel")
}

// findJob makes a request below the path of a job, in every kind that the id may belong to.
func (s *Service) findJob(ctx context.Context, method, id, suffix string) (Job, error) {
	for _, kind := range jobKinds {
		if !strings.HasPrefix(id, kind.prefix) {
			continue
		}
		body, err := s.receiveJob(ctx, method, kind.path+"/"+url.PathEscape(id)+suffix)
		if errors.Is(err, errNoJob) {
			continue
		}
		return decodeJob(kind.name, body), err
	}
	return Job{}, fmt.Errorf("%s: %w", id, errNoJob)
}

// receiveJob makes one request. An answer with status 404 is errNoJob.
func (s *Service) receiveJob(ctx context.Context, method, path string) ([]byte, error) {
	body, err := s.receive(ctx, method, path, nil)
	var refusal *Refusal
	if errors.As(err, &refusal) && refusal.Status == http.StatusNotFound {
		return nil, errNoJob
	}
	return body, err
}

// decodeJob decodes what a list shows of a job; members that are missing are not shown.
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
