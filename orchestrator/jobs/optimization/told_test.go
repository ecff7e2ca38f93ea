package optimization

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/unfinished"
)

// toldBody is the body of a job whose client tells the scores.
const toldBody = `{"smi":"CCC","objective":{"terms":["QED",{"name":"told"}]},"iterations":2}`

// generations is an API whose search asks for two batches that share a molecule, and answers with all scores.
func generations(a Request, body map[string]any, each func(string) error) (string, error) {
	if a.Told == nil {
		return `{"generated":[]}`, nil
	}
	var scores []string
	for i, smiles := range [][]string{{"C", "CC", "CCC"}, {"CC", "CCO", "CCN"}} {
		told, err := a.Told(a.Stopping, smiles)
		if err != nil {
			var reason unfinished.Reason
			if !errors.As(context.Cause(a.Stopping), &reason) {
				return "", err
			}
			return fmt.Sprintf(`{"generated":%q,"unfinished":{"reason":%q}}`, scores, reason), nil
		}
		scores = append(scores, fmt.Sprintf("%v", told))
		if err := each(fmt.Sprintf(checkpoint, i+1, 3)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"generated": scores, "seed": body["seed"]})
	return string(text), err
}

// waiting waits until a job has count candidates, and returns them by SMILES.
func (b *fixture) waiting(job Job, count int) map[string]string {
	b.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		asked, err := b.ask(b.t.Context(), job.API, "", job.ID)
		if err != nil || time.Now().After(end) {
			b.t.Fatalf("%+v %v", asked, err)
		}
		if len(asked.Candidates) == count {
			ids := map[string]string{}
			for _, c := range asked.Candidates {
				ids[c.SMILES] = c.ID
			}
			return ids
		}
	}
}

// score returns a score to tell; a failure if value is NaN.
func score(id string, value float64) Score {
	if math.IsNaN(value) {
		return Score{ID: id, Error: "does not dissolve"}
	}
	return Score{ID: id, Score: &value}
}

func (b *fixture) mustTell(job Job, scores ...Score) Told {
	b.t.Helper()
	t := Tell{Scores: scores}
	if err := t.Validate(); err != nil {
		b.t.Fatal(err)
	}
	told, err := b.tell(b.t.Context(), job.API, "", job.ID, t)
	if err != nil {
		b.t.Fatal(err)
	}
	return told
}

// Scores may come one by one, in any order and as failures. A molecule is asked for once.
func TestScoresAreTold(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, generations)
	job := b.submit("latent", toldBody)
	first := b.waiting(job, 3)
	if told := b.mustTell(job, score(first["CCC"], 3)); told.Accepted != 1 || told.Waiting != 2 {
		t.Errorf("%+v", told)
	}
	b.mustTell(job, score(first["C"], math.NaN()), score(first["CC"], 2))
	second := b.waiting(job, 2)
	if second["CC"] != "" || second["CCO"] == "" {
		t.Errorf("%v", second)
	}
	for name, c := range map[string]struct {
		score Score
		path  string
	}{
		"unknown":      {score("7-0", 1), "scores[0].id"},
		"no id":        {score("", 1), "scores[0].id"},
		"another":      {score(first["CC"], 2.5), "scores[0].score"},
		"now failed":   {score(first["CC"], math.NaN()), "scores[0].score"},
		"other SMILES": {Score{ID: second["CCO"], SMILES: "CCN", Score: new(1.0)}, "scores[0].smiles"},
	} {
		_, err := b.tell(t.Context(), "latent", "", job.ID, Tell{Scores: []Score{c.score, score(second["CCN"], 9)}})
		if f := fault.As(err); f == nil || f.Kind != fault.Invalid || f.Field() != c.path {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.waiting(job, 2) // nothing of a refused request is stored
	if told := b.mustTell(job, score(first["C"], 1), score(first["CC"], 2)); told.Late != 1 || told.Accepted != 2 {
		t.Errorf("%+v", told)
	}
	b.mustTell(job, score(second["CCN"], 5), score(second["CCO"], 4))
	seen := b.await(job, Completed, Failed)
	if last := seen[len(seen)-1]; last.Status != Completed || last.Waiting != 0 || last.Attempts != 1 {
		t.Errorf("%+v", last)
	}
	// The search saw the failure, not the late score.
	if got := b.resultOf(job); !strings.HasPrefix(got, `{"generated":["[NaN 2 3]","[2 4 5]"],"seed":`) {
		t.Error(got)
	}
	text, _, err := b.evaluated(t.Context(), "latent", "", job.ID, "csv")
	if want := "smiles,score,error\nC,1,\nCC,2,\nCCC,3,\nCCO,4,\nCCN,5,\n"; err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
	text, _, err = b.evaluated(t.Context(), "latent", "", job.ID, "")
	if err != nil || !strings.HasPrefix(string(text), `{"evaluated":[{"smiles":"C","score":1},`) {
		t.Errorf("%s %v", text, err)
	}
	if _, _, err := b.evaluated(t.Context(), "latent", "", job.ID, "sdf"); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

// retried is an API whose search asks for a failed molecule again with each batch.
func retried(a Request, _ map[string]any, each func(string) error) (string, error) {
	if a.Told == nil {
		return `{"generated":[]}`, nil
	}
	var scores []string
	for _, smiles := range [][]string{{"C", "CC"}, {"CCO", "C"}, {"CCN", "C"}, {"CCS", "C"}} {
		told, err := a.Told(a.Stopping, smiles)
		if err != nil {
			return "", err
		}
		scores = append(scores, fmt.Sprintf("%v", told))
		if err := each(fmt.Sprintf(checkpoint, len(scores), 2)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"generated": scores})
	return string(text), err
}

// A late score is used from the next batch on, also by an attempt that repeats the search from its beginning.
func TestLateScoresAreUsed(t *testing.T) {
	folder := t.TempDir()
	b := begin(t, folder, Config{}, retried)
	job := b.submit("latent", toldBody)
	first := b.waiting(job, 2)
	b.mustTell(job, score(first["C"], math.NaN()), score(first["CC"], 2))
	second := b.waiting(job, 1)
	if told := b.mustTell(job, score(first["C"], 1)); told.Late != 1 {
		t.Errorf("%+v", told)
	}
	b.mustTell(job, score(second["CCO"], 4))
	third := b.waiting(job, 1)
	b.end()

	b = begin(t, folder, Config{}, retried)
	b.mustTell(job, score(third["CCN"], 5))
	b.mustTell(job, score(b.waiting(job, 1)["CCS"], 6))
	seen := b.await(job, Completed, Failed)
	if last := seen[len(seen)-1]; last.Status != Completed || last.Attempts != 2 {
		t.Errorf("%+v", last)
	}
	if got := b.resultOf(job); got != `{"generated":["[NaN 2]","[4 NaN]","[5 1]","[6 1]"]}` {
		t.Error(got)
	}
}

// The stores may deliver an older state of a candidate after a newer one.
func TestAnOlderStateIsIgnored(t *testing.T) {
	asked := candidate{SMILES: "C"}
	failed := candidate{SMILES: "C", Told: true}
	late := candidate{SMILES: "C", Told: true, Late: new(1.0)}
	states := []candidate{asked, failed, late}
	for newest, want := range states {
		for older := range newest + 1 {
			b := board{known: map[string]candidate{}}
			b.update(want)
			b.update(states[older])
			if got := b.known["C"]; got != want {
				t.Errorf("%+v after %+v and %+v", got, want, states[older])
			}
		}
	}
}

func TestTellIsValidated(t *testing.T) {
	long := score("0-1", math.NaN())
	long.Error = strings.Repeat("x", maxToldError+1)
	both := score("0-1", 1)
	both.Error = "failed"
	for path, scores := range map[string][]Score{
		"scores":          {},
		"scores[1].id":    {score("0-0", 1), score("0-0", 1)},
		"scores[0].error": {both},
		"scores[1].error": {score("0-0", 1), long},
	} {
		tell := Tell{Scores: scores}
		if f := fault.As(tell.Validate()); f == nil || f.Field() != path {
			t.Errorf("%s: %v", path, f)
		}
	}
}

// A job that waits for long takes no worker. It goes on, with the same seed, once it has all scores, also on another
// gateway.
func TestWaitingJobIsParked(t *testing.T) {
	folder := t.TempDir()
	b := begin(t, folder, Config{}, generations)
	b.parkAfter = 10 * time.Millisecond
	job := b.submit("latent", toldBody)
	parked := func(b *fixture) (r record) {
		for end := time.Now().Add(time.Minute); !r.isParked() && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
			r, _, _ = b.get(t.Context(), "latent", "", job.ID)
		}
		return r
	}
	r := parked(b)
	if !r.isParked() || r.Waiting != 3 || r.Seed == 0 || r.Failures != 0 {
		t.Fatalf("%+v", r)
	}
	other := begin(t, t.TempDir(), Config{}, generations) // has no such job
	if _, err := other.ask(t.Context(), "latent", "", job.ID); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	quick := b.submit("latent", `{"smi":"CCC"}`) // the only worker is free
	b.await(quick, Completed)
	first := b.waiting(job, 3)
	b.mustTell(job, score(first["C"], 1), score(first["CC"], 2), score(first["CCC"], 3))
	b.waiting(job, 2)
	parked(b)
	b.end()

	b = begin(t, folder, Config{}, generations)
	second := b.waiting(job, 2)
	if told := b.mustTell(job, score(second["CCO"], 4)); told.Waiting != 1 {
		t.Errorf("%+v", told)
	}
	b.mustTell(job, score(second["CCN"], 5))
	seen := b.await(job, Completed, Failed)
	if last := seen[len(seen)-1]; last.Status != Completed || last.Attempts != 1 {
		t.Errorf("%+v", last)
	}
	if got, want := b.resultOf(job), fmt.Sprintf(`{"generated":["[1 2 3]","[2 4 5]"],"seed":%d}`, r.Seed); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A gateway that stops while its search waits passes the job on.
func TestWaitingJobOutlivesItsGateway(t *testing.T) {
	folder := t.TempDir()
	b := begin(t, folder, Config{}, generations)
	job := b.submit("latent", toldBody)
	first := b.waiting(job, 3)
	b.mustTell(job, score(first["C"], 1))
	b.end()
	b = begin(t, folder, Config{}, generations)
	b.mustTell(job, score(first["CC"], 2), score(first["CCC"], 3))
	second := b.waiting(job, 2)
	b.mustTell(job, score(second["CCO"], 4), score(second["CCN"], 5))
	b.await(job, Completed, Failed)
	if got := b.resultOf(job); !strings.HasPrefix(got, `{"generated":["[1 2 3]","[2 4 5]"]`) {
		t.Error(got)
	}
}

// A cancelled job repeats what its scores allow, whether it was parked or not.
func TestWaitingJobIsCancelled(t *testing.T) {
	for _, park := range []time.Duration{time.Hour, 10 * time.Millisecond} {
		b := begin(t, t.TempDir(), Config{}, generations)
		b.parkAfter = park
		job := b.submit("latent", toldBody)
		first := b.waiting(job, 3)
		b.mustTell(job, score(first["C"], 1), score(first["CC"], 2), score(first["CCC"], 3))
		b.waiting(job, 2)
		if park < time.Second {
			time.Sleep(3 * time.Second) // it may be parked by now
		}
		if _, err := b.cancel(t.Context(), "latent", "", job.ID); err != nil {
			t.Fatal(err)
		}
		b.await(job, Cancelled, Failed)
		if got := b.resultOf(job); got != `{"generated":["[1 2 3]"],"unfinished":{"reason":"cancelled"}}` {
			t.Errorf("park after %v: %s", park, got)
		}
		if asked, err := b.ask(t.Context(), "latent", "", job.ID); err != nil || len(asked.Candidates) > 0 {
			t.Errorf("%+v %v", asked, err)
		}
	}
}

// A job whose scores nobody tells ends after Config.Keep. Its batches are deleted with it.
func TestForgottenJobEnds(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, generations)
	b.parkAfter = 10 * time.Millisecond
	job := b.submit("latent", toldBody)
	b.waiting(job, 3)
	sweep := func(at int64) {
		t.Helper()
		if err := b.sweep(t.Context(), b.stores(), at); err != nil {
			t.Fatal(err)
		}
	}
	for r := (record{}); !r.isParked(); time.Sleep(10 * time.Millisecond) {
		r, _, _ = b.get(t.Context(), "latent", "", job.ID)
	}
	sweep(now())
	if r, _, _ := b.get(t.Context(), "latent", "", job.ID); !r.isParked() {
		t.Errorf("%+v", r)
	}
	sweep(now() + 3700)
	b.await(job, Cancelled, Failed)
	sweep(now() + 2*3700)
	if keys, err := b.stores().told.Keys(t.Context()); err != nil || len(keys) > 0 {
		t.Errorf("%v %v", keys, err)
	}
}

func TestBatchesOfADeletedJobAreDropped(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, generations)
	st := b.stores()
	job := b.submit("latent", toldBody)
	b.waiting(job, 3)
	if err := st.told.Create(t.Context(), batchKey("everyone.job_0", 0), batch{}); err != nil {
		t.Fatal(err)
	}
	if err := dropOrphans(t.Context(), st, time.Now()); err != nil {
		t.Fatal(err)
	}
	keys, err := st.told.Keys(t.Context())
	if err != nil || !slices.Equal(keys, []string{batchKey("everyone."+job.ID, 0)}) {
		t.Errorf("%v %v", keys, err)
	}
}

func TestUsesTold(t *testing.T) {
	for body, want := range map[string]bool{
		`{"objective":"told"}`:                                              true,
		`{"objective":["QED","told"]}`:                                      true,
		`{"objective":{"name":"told","unit":2}}`:                            true,
		`{"objective":{"terms":[{"terms":[{"name":"told"}]}]}}`:             true,
		`{"property_name":"told"}`:                                          true,
		`{"objective":{"name":"similarity","smiles":"told"},"told":"told"}`: false,
		`{"smi":"told"}`:                                                    false,
	} {
		if usesTold([]byte(body)) != want {
			t.Errorf("%s: want %v", body, want)
		}
	}
}

// A job whose objective does not have the term told asks for nothing.
func TestOtherJobsAskForNothing(t *testing.T) {
	b := begin(t, t.TempDir(), Config{}, func(Request, map[string]any, func(string) error) (string, error) {
		return `{"generated":[],"evaluated":[{"smiles":"C","score":0.25}]}`, nil
	})
	job := b.submit("latent", `{"smi":"CCC"}`)
	b.await(job, Completed)
	if _, err := b.ask(t.Context(), "latent", "", job.ID); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if _, err := b.tell(t.Context(), "latent", "", job.ID, Tell{}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	text, _, err := b.evaluated(t.Context(), "latent", "", job.ID, "csv")
	if err != nil || string(text) != "smiles,score,error\nC,0.25,\n" {
		t.Errorf("%s %v", text, err)
	}
}

// Later releases must read the batches that this release wrote.
func TestNamesOfStoredBatch(t *testing.T) {
	b := batch{
		Candidates: []candidate{{SMILES: "C"}, {SMILES: "CC", Told: true, Score: new(1.0), Error: "e", Late: new(2.0)}},
		Late:       []string{"CCC"},
	}
	text, err := json.Marshal(b)
	const want = `{"candidates":[{"smiles":"C"},{"smiles":"CC","told":true,"score":1,"error":"e","late":2}],` +
		`"late":["CCC"]}`
	if err != nil || string(text) != want {
		t.Errorf("%s %v", text, err)
	}
}
