package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
)

// Candidate is a molecule of a job that waits for a score.
type Candidate struct {
	ID     string `json:"id"`
	SMILES string `json:"smiles"`
}

// Score is the score of a candidate to tell.
type Score struct {
	ID     string   `json:"id"`
	SMILES string   `json:"smiles,omitempty"`
	Score  *float64 `json:"score"` // nil: a failure
	Error  string   `json:"error,omitempty"`
}

// StartSearch creates a search of an API, latent or masked, as a job. It does not retry, so that it creates one.
func (s *Service) StartSearch(ctx context.Context, api string, body json.RawMessage) (Job, error) {
	answer, err := s.receive(ctx, http.MethodPost, "/"+api+"/generate/jobs", body)
	return decodeJob(api, answer), err
}

// Candidates returns the molecules of a job that wait for a score, and the status of the job.
func (s *Service) Candidates(ctx context.Context, id string) (waiting []Candidate, status string, err error) {
	answer, err := s.findJob(ctx, http.MethodGet, id, "/ask", nil)
	if err != nil {
		return nil, "", err
	}
	var asked struct {
		Candidates []Candidate `json:"candidates"`
	}
	err = json.Unmarshal(answer.Raw, &asked)
	return asked.Candidates, answer.Status, err
}

// Tell hands in scores of a job's candidates. It returns the gateway's answer.
func (s *Service) Tell(ctx context.Context, id string, scores []Score) (json.RawMessage, error) {
	body, err := json.Marshal(map[string]any{"scores": scores})
	if err != nil {
		return nil, err
	}
	answer, err := s.findJob(ctx, http.MethodPost, id, "/tell", body)
	return answer.Raw, err
}

// Evaluated returns the molecules that a search has evaluated, with their scores, in a format: json or csv.
func (s *Service) Evaluated(ctx context.Context, id, format string) ([]byte, error) {
	answer, err := s.findJob(ctx, http.MethodGet, id, "/evaluated?format="+url.QueryEscape(format), nil)
	return answer.Raw, err
}
