package optimization

import (
	"encoding/json"
	"slices"
	"time"
)

// record is the stored state of a job. Its JSON names must stay: older releases wrote them.
type record struct {
	Job
	Owner      string `json:"Owner"`
	BodySize   int64  `json:"BodySize"`   // bytes
	ResultSize int64  `json:"ResultSize"` // bytes; of a job that has not ended, those of an unfinished result
	Failures   int    `json:"Failures"`   // failed attempts since the last progress
	// UnavailableSince is the Unix time of the start of the first of the last attempts that could not start; 0: the
	// last one could.
	UnavailableSince int64 `json:"UnavailableSince,omitzero"`
	ResultIteration  int   `json:"ResultIteration,omitzero"` // Progress.Iteration with the unfinished result
	// Seeded jobs have the member seed. Each attempt starts from the beginning, so that the result does not depend on
	// where an earlier attempt ended.
	Seeded   bool     `json:"Seeded"`
	Searches []search `json:"Searches"`

	// Told jobs have the term told in their objective. They are seeded: an attempt repeats what earlier ones did, with
	// the scores that the client has told since.
	Told     bool  `json:"Told,omitzero"`
	Seed     int64 `json:"Seed,omitzero"`     // of a told job; 0 if its body has one
	ParkedAt int64 `json:"ParkedAt,omitzero"` // Unix time at which no worker had the job any more; 0: a worker has it
	ToldSize int64 `json:"ToldSize,omitzero"` // bytes of the batches
}

// isParked reports whether a job waits for scores without a worker.
func (r *record) isParked() bool { return r.ParkedAt != 0 && r.Status == InProgress }

// search is the progress of one search.
type search struct {
	Iterations  int             `json:"Iterations"`  // requested
	Before      int             `json:"Before"`      // done by earlier attempts
	Done        int             `json:"Done"`        // done by this attempt
	Furthest    int             `json:"Furthest"`    // done by the longest attempt
	Evaluations int             `json:"Evaluations"` // of this attempt
	WarmStarts  []string        `json:"Found"`       // SMILES, best first
	Best        json.RawMessage `json:"Best"`
}

// key is the key of the record: all records of an owner share a prefix.
func (r *record) key() string { return r.Owner + "." + r.ID }

func (r record) storedBytes() int64 { return r.BodySize + r.ResultSize + r.ToldSize }

// summary returns the record as the index holds it, without its large members.
func (r record) summary() record {
	r.Searches = nil
	r.Progress = Progress{}
	r.Unfinished = nil
	r.Error = nil
	return r
}

// maxWarmStarts bounds the molecules of a record, which must fit into 1 MiB.
const maxWarmStarts = 4096

// apply updates the record with an event of the API's stream. It returns false if the event reports no progress.
func (r *record) apply(e event) bool {
	if e.Found == nil && e.Best == nil || e.Seed < 0 || e.Seed >= len(r.Searches) {
		return false
	}
	s := &r.Searches[e.Seed]
	s.Done = max(s.Done, e.Iteration)
	s.Evaluations = e.Evaluations
	s.Best = e.Best
	if len(e.Found) > 0 && s.Iterations > 0 {
		s.Done = max(s.Done, e.Round) // a round that reports molecules is done
		s.WarmStarts = s.WarmStarts[:0]
		for _, m := range e.Found[:min(len(e.Found), max(1, maxWarmStarts/len(r.Searches)))] {
			s.WarmStarts = append(s.WarmStarts, m.SMILES)
		}
	}
	if !r.Seeded || s.Done > s.Furthest {
		r.Failures = 0
		r.UnavailableSince = 0
	}
	s.Furthest = max(s.Furthest, s.Done)
	r.updateProgress()
	return true
}

// hasProgress reports whether an attempt has done an iteration.
func (r *record) hasProgress() bool {
	return slices.ContainsFunc(r.Searches, func(s search) bool { return s.Before > 0 || s.Furthest > 0 })
}

// updateProgress sums up the progress of the searches.
func (r *record) updateProgress() {
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

// startAttempt updates the record for a new attempt, which has the remaining iterations to do, or all of them if the
// job is seeded.
func (r *record) startAttempt() {
	r.Status = InProgress
	if r.ParkedAt == 0 { // else the last attempt goes on
		r.Attempts++
	}
	r.ParkedAt = 0
	if r.StartedAt == nil {
		r.StartedAt = new(now())
	}
	for i := range r.Searches {
		s := &r.Searches[i]
		if len(s.WarmStarts) > 0 && !r.Seeded {
			s.Before = min(s.Before+s.Done, s.Iterations)
		}
		s.Done = 0
	}
	r.updateProgress()
}

// startLastAttempt updates the record of a cancelled job for an attempt of one iteration, which returns the molecules
// of earlier attempts.
func (r *record) startLastAttempt() {
	r.startAttempt()
	r.Status = Cancelling
	if r.Told { // repeats all iterations, up to the first molecule without a score
		return
	}
	for i := range r.Searches {
		s := &r.Searches[i]
		s.Before = max(s.Before, s.Iterations-1)
	}
}

// end sets a final state. The job is deleted after keep.
func (r *record) end(status Status, keep time.Duration) {
	r.Status = status
	r.EndedAt = new(now())
	r.ExpiresAt = new(time.Now().Add(keep).Unix())
	for i := range r.Searches {
		r.Searches[i].WarmStarts = nil
	}
}

func now() int64 { return time.Now().Unix() }
