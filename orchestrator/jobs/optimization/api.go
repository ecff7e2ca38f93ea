package optimization

import "encoding/json"

// Job describes a search that is done as a job.
type Job struct {
	ID     string `json:"id"`
	Object string `json:"object"` // "generate.job"
	API    string `json:"api"`    // "latent" or "masked"
	Status Status `json:"status"`
	// Times are in seconds since 1970; null for what has not come.
	CreatedAt int64  `json:"created_at"`
	StartedAt *int64 `json:"started_at"`
	EndedAt   *int64 `json:"ended_at"`
	ExpiresAt *int64 `json:"expires_at"` // when job and result are deleted
	// Attempts are how often the search was begun: more than one after the end of a gateway or a failure.
	Attempts int      `json:"attempts"`
	Progress Progress `json:"progress"`
	// HasResult says that there is a result.
	HasResult bool `json:"has_result"`
	// Unfinished is why the result is not all that was asked for, as /generate says it; null where it is.
	Unfinished json.RawMessage `json:"unfinished"`
	// Error is what /generate answered to a job that failed.
	Error json.RawMessage `json:"error"`
}

// Status is the state of a job.
type Status string

// The states of a job. The last three are its end.
const (
	Queued     Status = "queued"
	InProgress Status = "in_progress"
	Cancelling Status = "cancelling"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

func (s Status) ended() bool { return s == Completed || s == Failed || s == Cancelled }

// Progress is how far a job has come.
type Progress struct {
	// Iteration are the iterations (of the masked API: rounds) that are done, of all searches of the job together.
	Iteration   int `json:"iteration"`
	Iterations  int `json:"iterations"`
	Evaluations int `json:"evaluations"` // of this attempt; only of the latent API
	// Best is the best molecule of each search, or null: of the masked API its score alone.
	Best []json.RawMessage `json:"best"`
}

// Page is a part of the list of jobs, newest first.
type Page struct {
	Object  string  `json:"object"` // "list"
	Data    []Job   `json:"data"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}
