package optimization

import (
	"encoding/json"

	"retort/orchestrator/gateway"
)

// Refusal is an API's answer to a body that it rejects.
type Refusal = gateway.Refusal

// Job describes a job.
type Job struct {
	ID     string `json:"id"`
	Object string `json:"object"` // "generate.job"
	API    string `json:"api"`    // "latent" or "masked"
	Status Status `json:"status"`
	// Times are Unix times in seconds, null while they are not known.
	CreatedAt int64  `json:"created_at"`
	StartedAt *int64 `json:"started_at"`
	EndedAt   *int64 `json:"ended_at"`
	ExpiresAt *int64 `json:"expires_at"` // when job and result are deleted
	// Attempts is the number of requests to the API. Above 1, a gateway was stopped or an attempt failed.
	Attempts int      `json:"attempts"`
	Progress Progress `json:"progress"`
	// Waiting is the number of molecules that wait for a score of the client.
	Waiting   int  `json:"waiting,omitzero"`
	HasResult bool `json:"has_result"`
	// Unfinished is why the result is incomplete, in the form of /generate, or null.
	Unfinished json.RawMessage `json:"unfinished"`
	// Error is the answer of /generate to the last attempt of a job that failed, or null.
	Error json.RawMessage `json:"error"`
}

// Status is the state of a job.
type Status string

// The states of a job. The last three are final.
const (
	Queued     Status = "queued"
	InProgress Status = "in_progress"
	Cancelling Status = "cancelling"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

func (s Status) ended() bool { return s == Completed || s == Failed || s == Cancelled }

// Progress is the progress of a job, summed over its searches.
type Progress struct {
	Iteration   int `json:"iteration"`   // iterations done; the masked API calls them rounds
	Iterations  int `json:"iterations"`  // iterations requested
	Evaluations int `json:"evaluations"` // molecules evaluated in this attempt; 0 for the masked API
	// Best has the best molecule of each search, or null. For the masked API it is the score alone.
	Best []json.RawMessage `json:"best"`
}
