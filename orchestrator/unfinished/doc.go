// Package unfinished is for work that can answer with what it has found so far: a search over molecules whose deadline
// comes, whose oracle or model fails half way, or whose gateway is told to stop.
//
// The gateway says when the work of a request has to end ([Within]). The use case begins its work with [Begin], which
// ends a little before the request does, so that there is time to write the answer. What it was that ended the work, if
// anything can still be answered, says [Of].
package unfinished

import "time"

// Reason says why work ended before it was done.
type Reason string

const (
	Deadline Reason = "deadline" // the time for the request was up
	Stopping Reason = "stopping" // the gateway is being stopped
	// Cancelled is a job that was cancelled.
	Cancelled Reason = "cancelled"
	Oracle    Reason = "oracle" // an oracle failed, or did not answer in its time
	Model     Reason = "model"  // a model failed, or is not there any more
)

// Error makes a reason the cause of a context's end.
func (r Reason) Error() string { return string(r) }

// Header is the header of an answer that is unfinished. Its value is the reason.
const Header = "X-Retort-Unfinished"

// Mark is what an unfinished answer says of itself.
type Mark struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"` // for a person
	Err     error  `json:"-"`       // for the log
}

// Answer is an answer that may be unfinished. Mark is nil for one that is not.
type Answer interface{ Cut() *Mark }

// maxReserve is the most time that work leaves for its answer to be written.
const maxReserve = 2 * time.Second

// Reserve is how much earlier than the end of a request of that length its work ends: a tenth, 2 s at most.
func Reserve(length time.Duration) time.Duration { return min(length/10, maxReserve) }
