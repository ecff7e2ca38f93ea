package responses

import (
	"time"

	"retort/orchestrator/jobs"
)

// record is the stored state of a response. Its JSON names must stay: older releases wrote them.
type record struct {
	ID         string `json:"id"`
	Owner      string `json:"owner"`
	Previous   string `json:"previous,omitempty"` // id of the response that it continues, "" for none
	Turns      int    `json:"turns"`              // of the chain
	ChainBytes int64  `json:"chain_bytes"`        // of the contents of the chain
	Size       int64  `json:"size"`               // bytes of the content
	CreatedAt  int64  `json:"created_at"`         // Unix time in seconds, as is ExpiresAt
	ExpiresAt  int64  `json:"expires_at"`
	// Status and RequestSize belong to a background response that has not ended: its state, and the bytes of its stored
	// request.
	Status      Status `json:"status,omitempty"`
	RequestSize int64  `json:"request_size,omitempty"`
	// End is a part of the name of the file with the content of a background response that has ended, different for
	// each worker: two may end a response at once, because a worker without a heartbeat may still run. "" for others.
	End string `json:"end,omitempty"`
}

// Status is the state of a background response that has not ended; "" for one that has.
type Status string

// The states of a background response.
const (
	Ended      Status = ""
	Queued     Status = "queued"
	InProgress Status = "in_progress"
	Cancelling Status = "cancelling"
)

func (r record) key() string { return r.Owner + "." + r.ID }

func (r record) storedBytes() int64 { return r.Size + r.RequestSize }

func (r record) isExpired() bool { return r.ExpiresAt <= now() }

// contentName returns the name of the file with the content. The content at the end of a background response has
// another name than the one at its start, because a file must not be written again.
func (r record) contentName() string {
	if r.Status == Ended && r.End != "" {
		return r.key() + ".end." + r.End
	}
	if r.Status == Ended {
		return r.key() + ".end"
	}
	return r.key() + ".start"
}

func (r record) requestName() string { return r.key() + ".request" }

// clock is the time by which responses expire. Tests replace it.
var clock = time.Now

func now() int64 { return clock().Unix() }

const idPrefix = "resp_"

// NewID returns the id of a new response.
func (s *Service) NewID() string { return jobs.NewID(idPrefix, clock()) }
