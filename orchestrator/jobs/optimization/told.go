package optimization

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"retort/orchestrator/fault"
	"retort/orchestrator/jobs"
	"retort/orchestrator/jobs/queue"
)

// toldTerm is the term of an objective whose values the client tells: see package oracle.
const toldTerm = "told"

// batch is a stored batch: molecules whose scores a search needs before it goes on. Its JSON names must stay.
type batch struct {
	Candidates []candidate `json:"candidates"`
	// Late are the SMILES of earlier candidates whose late scores the searches use from this batch on. Every attempt
	// must see a score at the same point, so that it asks for the same molecules.
	Late []string `json:"late,omitzero"`
}

// candidate is a molecule of a batch.
type candidate struct {
	SMILES string `json:"smiles"`
	// Told says that the client has told the score or the failure, which then never changes: each attempt must get the
	// same score.
	Told  bool     `json:"told,omitzero"`
	Score *float64 `json:"score,omitzero"` // nil: none yet, or a failure
	Error string   `json:"error,omitzero"` // why the molecule has no score
	// Late is a score that arrived after a failure: see batch.Late.
	Late *float64 `json:"late,omitzero"`
}

// maxBatch bounds the candidates and the late scores of a stored batch, which must fit into 1 MiB.
const maxBatch = 500

// batchKey returns the key of batch n of a job.
func batchKey(job string, n int) string { return job + "." + strconv.Itoa(n) }

// candidateID returns the id of candidate i of batch n.
func candidateID(n, i int) string { return fmt.Sprintf("%d-%d", n, i) }

// parseCandidateID is the inverse of candidateID.
func parseCandidateID(id string) (n, i int, ok bool) {
	batch, candidate, _ := strings.Cut(id, "-")
	n, err := strconv.Atoi(batch)
	i, also := strconv.Atoi(candidate)
	return n, i, err == nil && also == nil && id == candidateID(n, i)
}

// batches returns the batches of a job in order.
func (st *stores) batches(ctx context.Context, job string) ([]batch, error) {
	records, err := st.told.List(ctx, job+".*")
	if err != nil {
		return nil, err
	}
	all := make([]batch, len(records))
	for n := range all {
		all[n] = records[batchKey(job, n)]
	}
	return all, nil
}

// dropBatches deletes the batches of a job.
func (st *stores) dropBatches(ctx context.Context, job string) error {
	batches, err := st.told.List(ctx, job+".*")
	for key := range batches {
		err = errors.Join(err, st.told.Delete(ctx, key))
	}
	return err
}

// countWaiting sets what the record says about its batches. It belongs in a change of the record that follows a change
// of a batch, so that the last of several writers has seen all batches.
func (r *record) countWaiting(ctx context.Context, st *stores) error {
	batches, err := st.batches(ctx, r.key())
	r.Waiting = 0
	r.ToldSize = 0
	for _, b := range batches {
		for _, c := range b.Candidates {
			r.ToldSize += int64(len(c.SMILES)) + int64(len(c.Error)) + candidateBytes
			if !c.Told {
				r.Waiting++
			}
		}
	}
	return err
}

// candidateBytes is about what a stored candidate takes besides its texts.
const candidateBytes = 50

// wake queues a parked job that can go on. A worker that has just parked it may still hold its task, and then Push has
// no effect; the next question for candidates, or the sweep, wakes it.
func (st *stores) wake(ctx context.Context, r *record) error {
	if !r.isParked() || r.Waiting > 0 {
		return nil
	}
	return st.tasks.Push(ctx, queue.Work, r.key(), nil)
}

// Asked are the candidates that wait for a score.
type Asked struct {
	Object     string      `json:"object"` // "generate.job.ask"
	Job        string      `json:"job"`    // id
	Status     Status      `json:"status"` // of the job
	Candidates []Candidate `json:"candidates"`
}

// Candidate is a molecule that waits for a score.
type Candidate struct {
	ID     string `json:"id"`
	SMILES string `json:"smiles"` // canonical
}

// Tell is the body that hands in scores.
type Tell struct {
	Scores []Score `json:"scores" bind:"required"`
}

// Score is the score of a candidate.
type Score struct {
	ID     string   `json:"id" bind:"required"`
	SMILES string   `json:"smiles"` // if present, that of the candidate, to notice an exchange
	Score  *float64 `json:"score" bind:"required,nullable"`
	Error  string   `json:"error"` // why the score is null
}

// Told is the answer to Tell.
type Told struct {
	Object   string `json:"object"` // "generate.job.tell"
	Job      string `json:"job"`    // id
	Status   Status `json:"status"` // of the job
	Accepted int    `json:"accepted"`
	Late     int    `json:"late"`    // of those accepted, scores of which the job has had a failure
	Waiting  int    `json:"waiting"` // candidates that still wait for a score
}

// The bounds of Tell.
const (
	maxTold      = 10_000
	maxToldError = 200 // characters
)

// Validate checks the bounds.
func (t *Tell) Validate() error {
	var problems fault.Problems
	problems.Add(fault.Items(len(t.Scores), 1, maxTold, "scores"))
	seen := map[string]bool{}
	problems.AddEach(len(t.Scores), func(i int) *fault.Error {
		s := t.Scores[i]
		repeated := seen[s.ID]
		seen[s.ID] = true
		switch {
		case repeated:
			return fault.Field("value_error", fault.Clip(s.ID), []any{"scores", i, "id"},
				"Value error, %q has a score in this request already", fault.Clip(s.ID))
		case s.Score != nil && s.Error != "":
			return fault.Field("value_error", fault.Clip(s.Error), []any{"scores", i, "error"},
				"Value error, a candidate has a score or an error, not both")
		case len([]rune(s.Error)) > maxToldError:
			return fault.Field("value_error", fault.Clip(s.Error), []any{"scores", i, "error"},
				"Value error, an error should have at most %d characters", maxToldError)
		}
		return nil
	})
	return problems.Err()
}

// ask returns the candidates of a job that wait for a score.
func (s *Service) ask(ctx context.Context, api, caller, id string) (Asked, error) {
	r, st, err := s.toldJob(ctx, api, caller, id)
	if err != nil {
		return Asked{}, err
	}
	batches, err := st.batches(ctx, r.key())
	if err != nil {
		return Asked{}, s.fault(err)
	}
	answer := Asked{Object: "generate.job.ask", Job: r.ID, Status: r.Status, Candidates: []Candidate{}}
	if r.Status.ended() {
		return answer, nil
	}
	for n, b := range batches {
		for i, c := range b.Candidates {
			if !c.Told {
				answer.Candidates = append(answer.Candidates, Candidate{candidateID(n, i), c.SMILES})
			}
		}
	}
	r.Waiting = len(answer.Candidates)
	return answer, s.fault(st.wake(ctx, &r))
}

// toldJob returns a job of a caller whose objective has the term told.
func (s *Service) toldJob(ctx context.Context, api, caller, id string) (record, *stores, error) {
	r, st, err := s.get(ctx, api, caller, id)
	if err == nil && !r.Told {
		err = fault.New(fault.Invalid, "The job asks for no scores: its objective does not have the term told.")
	}
	return r, st, err
}

// tell stores scores of a job's candidates, all or none, and lets the job go on once none waits.
func (s *Service) tell(ctx context.Context, api, caller, id string, t Tell) (Told, error) {
	r, st, err := s.toldJob(ctx, api, caller, id)
	if err != nil {
		return Told{}, err
	}
	batches, err := st.batches(ctx, r.key())
	if err != nil {
		return Told{}, s.fault(err)
	}
	answer := Told{Object: "generate.job.tell", Job: r.ID}
	byBatch := map[int][]int{} // rows of the request
	var problems fault.Problems
	for row, score := range t.Scores {
		n, i, ok := parseCandidateID(score.ID)
		if !ok || n < 0 || n >= len(batches) || i < 0 || i >= len(batches[n].Candidates) {
			problems.Add(fault.Field("value_error", fault.Clip(score.ID), []any{"scores", row, "id"},
				"Value error, the job has no candidate %q", fault.Clip(score.ID)))
			continue
		}
		c := batches[n].Candidates[i]
		late, problem := c.set(score)
		if problem != nil {
			problems.Add(problem.Under("scores", row))
			continue
		}
		if late {
			answer.Late++
		}
		byBatch[n] = append(byBatch[n], row)
	}
	if err := problems.Err(); err != nil {
		return Told{}, err
	}
	for n, rows := range byBatch {
		_, err := st.told.Change(ctx, batchKey(r.key(), n), func(b *batch) error {
			for _, row := range rows {
				_, i, _ := parseCandidateID(t.Scores[row].ID)
				if _, problem := b.Candidates[i].set(t.Scores[row]); problem != nil { // told at the same time
					return problem.Under("scores", row)
				}
			}
			return nil
		})
		if err != nil {
			return Told{}, s.fault(err)
		}
	}
	answer.Accepted = len(t.Scores)
	r, err = st.jobs.Change(ctx, r.key(), func(r *record) error { return r.countWaiting(ctx, st) })
	if err == nil {
		err = st.wake(ctx, &r)
	}
	answer.Status = r.Status
	answer.Waiting = r.Waiting
	return answer, s.fault(err)
}

// set sets the score of a candidate. It returns whether the score comes after a failure. A candidate that has a score
// refuses another one.
func (c *candidate) set(s Score) (late bool, problem *fault.Error) {
	if s.SMILES != "" && s.SMILES != c.SMILES {
		return false, fault.Field("value_error", fault.Clip(s.SMILES), []any{"smiles"},
			"Value error, the candidate %s is %s", s.ID, c.SMILES)
	}
	known := c.Score
	if c.Late != nil {
		known = c.Late
	}
	switch {
	case !c.Told:
		c.Told = true
		c.Score = s.Score
		c.Error = s.Error
	case known == nil && s.Score == nil: // the same failure again
	case known == nil:
		c.Late = s.Score
		return true, nil
	case s.Score == nil || *s.Score != *known:
		return false, fault.Field("value_error", nil, []any{"score"},
			"Value error, the candidate %s has the score %v already", s.ID, *known)
	}
	return false, nil
}

// Evaluated are the molecules that a job has evaluated. The member known of /generate takes them.
type Evaluated struct {
	Evaluated []Molecule `json:"evaluated"`
}

// Molecule is an evaluated molecule.
type Molecule struct {
	SMILES string   `json:"smiles"`
	Score  *float64 `json:"score"` // null: a failure
	Error  string   `json:"error,omitempty"`
}

// evaluated returns all molecules that a job has evaluated so far, in a format, with the media type. If the client
// tells the scores, they are these; else they are in the result, if the body asked for them.
func (s *Service) evaluated(
	ctx context.Context, api, caller, id, format string,
) (text []byte, mediaType string, err error) {
	if format != "" && format != "json" && format != "csv" {
		return nil, "", fault.Field("value_error", fault.Clip(format), []any{"format"}, "format should be json or csv")
	}
	r, st, err := s.get(ctx, api, caller, id)
	if err != nil {
		return nil, "", err
	}
	all := Evaluated{Evaluated: []Molecule{}}
	if r.Told {
		err = all.addBatches(ctx, st, r.key())
	} else {
		err = s.readEvaluated(ctx, api, caller, id, &all)
	}
	if err != nil {
		return nil, "", s.fault(err)
	}
	if format != "csv" {
		text, err = json.Marshal(all)
		return text, "application/json", err
	}
	var out bytes.Buffer
	rows := csv.NewWriter(&out)
	_ = rows.Write([]string{"smiles", "score", "error"}) // into memory
	for _, m := range all.Evaluated {
		score := ""
		if m.Score != nil {
			score = strconv.FormatFloat(*m.Score, 'g', -1, 64)
		}
		_ = rows.Write([]string{m.SMILES, score, m.Error})
	}
	rows.Flush()
	return out.Bytes(), "text/csv; charset=utf-8", rows.Error()
}

// addBatches adds the candidates of a job that have a score or a failure.
func (e *Evaluated) addBatches(ctx context.Context, st *stores, job string) error {
	batches, err := st.batches(ctx, job)
	for _, b := range batches {
		for _, c := range b.Candidates {
			m := Molecule{SMILES: c.SMILES, Score: c.Score, Error: c.Error}
			if c.Late != nil {
				m = Molecule{SMILES: c.SMILES, Score: c.Late}
			}
			if c.Told {
				e.Evaluated = append(e.Evaluated, m)
			}
		}
	}
	return err
}

// readEvaluated reads the evaluated molecules of a job from its result.
func (s *Service) readEvaluated(ctx context.Context, api, caller, id string, all *Evaluated) error {
	_, reader, err := s.result(ctx, api, caller, id)
	if err != nil {
		return err
	}
	result, err := io.ReadAll(reader)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(result, all); err != nil {
		return err
	}
	if len(all.Evaluated) == 0 {
		return fault.Missing(fault.Result, "The result does not list the evaluated molecules: the body of the job needs "+
			`"evaluated": true.`)
	}
	return nil
}

// dropOrphanBatches deletes batches whose job does not exist.
func dropOrphanBatches(ctx context.Context, st *stores) error {
	batches, err := st.told.Keys(ctx) // before the jobs, so that the job of a new batch is seen
	if err != nil {
		return err
	}
	keys, err := st.jobs.Keys(ctx)
	if err != nil {
		return err
	}
	for _, key := range batches {
		if !slices.Contains(keys, key[:strings.LastIndexByte(key, '.')]) {
			err = errors.Join(err, st.told.Delete(ctx, key))
		}
	}
	return err
}

// callerOf is the inverse of jobs.Owner.
func callerOf(owner string) string {
	if owner == jobs.Owner("") {
		return ""
	}
	return owner
}
