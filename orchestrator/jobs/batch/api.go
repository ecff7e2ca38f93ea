package batch

// File describes a file.
type File struct {
	ID            string  `json:"id"`
	Object        string  `json:"object"` // "file"
	Bytes         int64   `json:"bytes"`
	CreatedAt     int64   `json:"created_at"` // Unix time in seconds, like all times in this file
	ExpiresAt     *int64  `json:"expires_at"`
	Filename      string  `json:"filename"`
	Purpose       string  `json:"purpose"`        // "batch" for uploads, "batch_output" for results
	Status        string  `json:"status"`         // "processed"
	StatusDetails *string `json:"status_details"` // always null
}

// Deleted is the answer of DELETE /v1/files/{id}.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"` // "file"
	Deleted bool   `json:"deleted"`
}

// Create is the body of POST /v1/batches.
type Create struct {
	InputFileID string `json:"input_file_id" bind:"required"`
	// Endpoint is the path of an endpoint of the base address, such as /v1/embeddings.
	Endpoint string `json:"endpoint" bind:"required"`
	// CompletionWindow is "24h".
	CompletionWindow string `json:"completion_window" bind:"required" oneof:"24h"`
	// Metadata has at most 16 pairs.
	Metadata map[string]string `json:"metadata"`
	// OutputExpiresAfter is the lifetime of the output and error files.
	OutputExpiresAfter *ExpiresAfter `json:"output_expires_after"`
}

// ExpiresAfter is the lifetime of a file.
type ExpiresAfter struct {
	Anchor  string `json:"anchor" bind:"required" oneof:"created_at"`
	Seconds int64  `json:"seconds" bind:"required"` // from an hour to 30 days
}

// Batch describes a batch.
type Batch struct {
	ID               string            `json:"id"`
	Object           string            `json:"object"` // "batch"
	Endpoint         string            `json:"endpoint"`
	Errors           *Errors           `json:"errors"` // null unless the batch failed
	InputFileID      string            `json:"input_file_id"`
	CompletionWindow string            `json:"completion_window"` // "24h"
	Status           string            `json:"status"`
	OutputFileID     *string           `json:"output_file_id"` // lines answered with 200; null: none
	ErrorFileID      *string           `json:"error_file_id"`  // all other lines; null: none
	CreatedAt        int64             `json:"created_at"`
	InProgressAt     *int64            `json:"in_progress_at"`
	ExpiresAt        *int64            `json:"expires_at"`
	FinalizingAt     *int64            `json:"finalizing_at"`
	CompletedAt      *int64            `json:"completed_at"`
	FailedAt         *int64            `json:"failed_at"`
	ExpiredAt        *int64            `json:"expired_at"`
	CancellingAt     *int64            `json:"cancelling_at"`
	CancelledAt      *int64            `json:"cancelled_at"`
	RequestCounts    Counts            `json:"request_counts"`
	Metadata         map[string]string `json:"metadata"`
}

// The states of a batch.
const (
	validating = "validating"
	failed     = "failed"
	inProgress = "in_progress"
	finalizing = "finalizing"
	completed  = "completed"
	expired    = "expired"
	cancelling = "cancelling"
	cancelled  = "cancelled"
)

// Counts has numbers of lines.
type Counts struct {
	Total     int `json:"total"`
	Completed int `json:"completed"` // answered with 200
	Failed    int `json:"failed"`
}

// Errors has the first problems of the file of a batch that failed.
type Errors struct {
	Object string  `json:"object"` // "list"
	Data   []Error `json:"data"`
}

// Error is one problem of a file.
type Error struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
	Line    *int    `json:"line"` // from 1, blank lines included; null: the whole file
}

// Answer is one line of an output or error file.
type Answer struct {
	ID       string    `json:"id"`
	CustomID string    `json:"custom_id"`
	Response *Response `json:"response"` // null: the line was not sent
	Error    *Failure  `json:"error"`
}

// Response is the endpoint's answer.
type Response struct {
	StatusCode int    `json:"status_code"`
	RequestID  string `json:"request_id"`
	Body       any    `json:"body"`
}

// Failure is why a line was not sent.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}
