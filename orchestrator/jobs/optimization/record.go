package optimization

import (
	"encoding/json"
	"time"
)

// record is a job as it is kept.
type record struct {
	Job
	Owner      string
	BodySize   int64
	ResultSize int64
	Failures   int // attempts that failed since there was progress
	Searches   []search
}

// search is how far one search of a job has come.
type search struct {
	Iterations  int      // to be done
	Before      int      // done by earlier attempts
	Done        int      // by this one
	Evaluations int      // by this attempt
	Found       []string // what the next attempt begins with
	Best        json.RawMessage
}

// key is where a record lies; of each owner they can be listed together.
func (r *record) key() string { return r.Owner + "." + r.ID }

// maxKept bounds the molecules of a record, which has room for 1 MiB.
const maxKept = 4096

// note takes an event of the API's stream, and reports whether it says how far a search has come.
func (r *record) note(e event) bool {
	if e.Found == nil && e.Best == nil || e.Seed < 0 || e.Seed >= len(r.Searches) {
		return false
	}
	s := &r.Searches[e.Seed]
	s.Done = max(s.Done, e.Iteration)
	s.Evaluations = e.Evaluations
	s.Best = e.Best
	if len(e.Found) > 0 && s.Iterations > 0 {
		s.Done = max(s.Done, e.Round) // a round is done when it shows what it has found
		s.Found = s.Found[:0]
		for _, m := range e.Found[:min(len(e.Found), max(1, maxKept/len(r.Searches)))] {
			s.Found = append(s.Found, m.SMILES)
		}
	}
	r.Failures = 0
	r.sum()
	return true
}

// sum makes the progress that is shown of that of the searches.
func (r *record) sum() {
	r.Progress = Progress{Best: make([]json.RawMessage, len(r.Searches))}
	for i, s := range r.Searches {
		r.Progress.Iteration += min(s.Iterations, s.Before+s.Done)
		r.Progress.Iterations += s.Iterations
		r.Progress.Evaluations += s.Evaluations
		r.Progress.Best[i] = json.RawMessage("null")
		if s.Best != nil {
			r.Progress.Best[i] = s.Best
		}
	}
}

// begin notes a new attempt, which has what is left to do.
func (r *record) begin() {
	r.Status = InProgress
	r.Attempts++
	if r.StartedAt == nil {
		r.StartedAt = pointer(now())
	}
	for i := range r.Searches {
		s := &r.Searches[i]
		if len(s.Found) > 0 {
			s.Before = min(s.Before+s.Done, s.Iterations)
		}
		s.Done = 0
	}
	r.sum()
}

// cut leaves a job no more to do than to answer with what it has found.
func (r *record) cut() {
	r.begin()
	r.Status = Cancelling
	for i := range r.Searches {
		s := &r.Searches[i]
		s.Before = max(s.Before, s.Iterations-1)
	}
}

// end notes the end of a job, which is kept for a while.
func (r *record) end(status Status, keep time.Duration) {
	r.Status = status
	r.EndedAt = pointer(now())
	r.ExpiresAt = pointer(time.Now().Add(keep).Unix())
	for i := range r.Searches {
		r.Searches[i].Found = nil
	}
}

func now() int64 { return time.Now().Unix() }

func pointer[T any](value T) *T { return &value }
