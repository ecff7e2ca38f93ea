package optimization

import (
	"context"
	"encoding/json"
	"io"

	"retort/orchestrator/jobs"
)

// The methods below serve other parts of this program. caller is what gateway.Caller returns for the request.

// Create creates a job of an API from the body of /generate. The error is a *Refusal if the API rejects the body.
func (s *Service) Create(ctx context.Context, api, caller string, body []byte) (Job, error) {
	return s.create(ctx, api, caller, body)
}

// Get returns a job of any API.
func (s *Service) Get(ctx context.Context, caller, id string) (Job, error) {
	st, err := s.storage.Open(ctx)
	if err != nil {
		return Job{}, err
	}
	r, err := jobs.Find(ctx, st.jobs, caller, id)
	return r.Job, s.fault(err)
}

// Cancel ends a job with the molecules found so far. A job that has ended is not changed.
func (s *Service) Cancel(ctx context.Context, caller, id string) (Job, error) {
	job, err := s.Get(ctx, caller, id)
	if err != nil {
		return job, err
	}
	return s.cancel(ctx, job.API, caller, id)
}

// Result returns the answer of /generate of a job that has one.
func (s *Service) Result(ctx context.Context, caller string, job Job) (json.RawMessage, error) {
	_, reader, err := s.result(ctx, job.API, caller, job.ID)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(reader)
	return answer, s.fault(err)
}
