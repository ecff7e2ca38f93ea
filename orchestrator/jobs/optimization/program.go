package optimization

import (
	"context"
	"encoding/json"
	"io"

	"retort/orchestrator/gateway"
	"retort/orchestrator/jobs"
)

// The methods below serve other parts of this program. ctx is that of the caller's request, and names the caller.

// Create creates a job of an API from the body of /generate. The error is a *Refusal if the API rejects the body.
func (s *Service) Create(ctx context.Context, api string, body []byte) (Job, error) {
	return s.create(ctx, api, gateway.Caller(ctx), body)
}

// Get returns a job of any API.
func (s *Service) Get(ctx context.Context, id string) (Job, error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return Job{}, err
	}
	r, err := jobs.Find(ctx, st.jobs, gateway.Caller(ctx), id)
	return r.Job, s.fault(err)
}

// Cancel ends a job with the molecules found so far. A job that has ended is not changed.
func (s *Service) Cancel(ctx context.Context, id string) (Job, error) {
	job, err := s.Get(ctx, id)
	if err != nil {
		return job, err
	}
	return s.cancel(ctx, job.API, gateway.Caller(ctx), id)
}

// Result returns the answer of /generate of a job that has one.
func (s *Service) Result(ctx context.Context, job Job) (json.RawMessage, error) {
	_, reader, err := s.result(ctx, job.API, gateway.Caller(ctx), job.ID)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(reader)
	return answer, s.fault(err)
}
