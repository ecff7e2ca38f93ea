// Package unfinished lets work answer with what it has found so far: a search over molecules whose deadline comes,
// whose oracle or model fails half way, or whose process is stopped.
//
// The gateway sets the limits of a request's work ([WithLimits]). The use case starts its work with [Begin]; it ends a
// little before the request does, so that there is time to write the answer. [Explain] says what ended the work and
// whether it can still be answered.
package unfinished

import "time"

// Reason says why work ended before it was finished. It is the cause of the context that ended.
type Reason string

// The reasons.
const (
	Deadline  Reason = "deadline"  // the time for the request was up
	Stopping  Reason = "stopping"  // the process is being stopped
	Cancelled Reason = "cancelled" // the job was cancelled
	Waiting   Reason = "waiting"   // a job waits for scores that its client hands in
	Oracle    Reason = "oracle"    // an oracle failed or did not answer in time
	Model     Reason = "model"     // a model failed or has been removed
)

// Error makes a Reason an error, and so the cause of a context.
func (r Reason) Error() string { return string(r) }

// Header is the header of an unfinished answer. Its value is the reason.
const Header = "X-Retort-Unfinished"

// Explanation is the part of an unfinished answer that says why it ended early.
type Explanation struct {
	Reason  Reason `json:"reason"`
	Message string `json:"message"` // for people
	Err     error  `json:"-"`       // for the log
}

// Answer is an answer that may be unfinished. The explanation of a finished one is nil.
type Answer interface{ ExplainUnfinished() *Explanation }

// maxReserve bounds Reserve.
const maxReserve = 2 * time.Second

// Reserve returns how long before the timeout of a request its work ends: a tenth of the timeout, at most 2 s.
func Reserve(timeout time.Duration) time.Duration { return min(timeout/10, maxReserve) }
