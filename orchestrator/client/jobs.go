// Package client is the command line's side of the APIs: it asks a running gateway over HTTP as any client does.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Jobs are the batches and searches that a running gateway keeps for a key.
type Jobs struct {
	URL  string // of the main port
	Key  string // "" for none
	HTTP *http.Client
}

// Job is a job as the gateway answers it, and what a list shows of it.
type Job struct {
	Raw       json.RawMessage
	ID        string
	Kind      string // "batch", "latent" or "masked"
	Status    string
	CreatedAt int64 // seconds since 1970
	Progress  string
}

// ErrNone is a job that is not there, or belongs to another key.
var ErrNone = errors.New("there is no such job")

// kinds are where jobs are, by the beginnings of their ids.
var kinds = []struct{ name, prefix, path string }{
	{"batch", "batch_", "/v1/batches"},
	{"latent", "job_", "/latent/generate/jobs"},
	{"masked", "job_", "/masked/generate/jobs"},
}

// List returns at most so many jobs of all kinds, the newest first.
func (j *Jobs) List(ctx context.Context, limit int) (all []Job, err error) {
	for _, kind := range kinds {
		for after := ""; len(all) < 3*limit; {
			query := url.Values{"limit": {"100"}}
			if after != "" {
				query.Set("after", after)
			}
			var page struct {
				Data    []json.RawMessage `json:"data"`
				HasMore bool              `json:"has_more"`
			}
			body, err := j.ask(ctx, http.MethodGet, kind.path+"?"+query.Encode())
			if errors.Is(err, ErrNone) {
				break // this kind of job is switched off
			}
			if err != nil {
				return nil, err
			}
			if err := json.Unmarshal(body, &page); err != nil {
				return nil, fmt.Errorf("%s: %w", kind.path, err)
			}
			for _, raw := range page.Data {
				one := read(kind.name, raw)
				after = one.ID
				all = append(all, one)
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

// Show returns a job.
func (j *Jobs) Show(ctx context.Context, id string) (Job, error) {
	return j.find(ctx, http.MethodGet, id, "")
}

// Cancel ends a job and returns it.
func (j *Jobs) Cancel(ctx context.Context, id string) (Job, error) {
	return j.find(ctx, http.MethodPost, id, "/cancel")
}

// find asks every kind of job that an id may belong to.
func (j *Jobs) find(ctx context.Context, method, id, what string) (Job, error) {
	for _, kind := range kinds {
		if !strings.HasPrefix(id, kind.prefix) {
			continue
		}
		body, err := j.ask(ctx, method, kind.path+"/"+url.PathEscape(id)+what)
		if errors.Is(err, ErrNone) {
			continue
		}
		return read(kind.name, body), err
	}
	return Job{}, fmt.Errorf("%s: %w", id, ErrNone)
}

// maxAnswer bounds an answer, in bytes: a page of jobs.
const maxAnswer = 64 << 20

// ask returns the body of an answer with status 200.
func (j *Jobs) ask(ctx context.Context, method, path string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(j.URL, "/")+path, nil)
	if err != nil {
		return nil, err
	}
	if j.Key != "" {
		request.Header.Set("Authorization", "Bearer "+j.Key)
	}
	answer, err := j.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	switch {
	case err != nil:
		return nil, err
	case answer.StatusCode == http.StatusNotFound:
		return nil, ErrNone
	case answer.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("%s: %s: %s", path, answer.Status, strings.TrimSpace(string(body)))
	}
	return body, nil
}

// read takes out of a job what a list shows.
func read(kind string, raw json.RawMessage) Job {
	var said struct {
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
	_ = json.Unmarshal(raw, &said) // what it does not say is not shown
	one := Job{Raw: raw, ID: said.ID, Kind: kind, Status: said.Status, CreatedAt: said.CreatedAt}
	switch {
	case said.Counts != nil:
		one.Progress = fmt.Sprintf("%d/%d", said.Counts.Completed+said.Counts.Failed, said.Counts.Total)
	case said.Progress != nil:
		one.Progress = fmt.Sprintf("%d/%d", said.Progress.Iteration, said.Progress.Iterations)
	}
	return one
}
