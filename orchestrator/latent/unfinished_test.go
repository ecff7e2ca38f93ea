package latent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"retort/orchestrator/fault"
	"retort/orchestrator/triton/tritontest"
	"retort/orchestrator/unfinished"
)

// hang returns a call that lasts until its context ends, and signals started.
func hang(started chan<- struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case started <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

var errFailed = errors.New("the tensor is broken")

func fail(context.Context) error { return errFailed }

// withDecoder returns the toy models. After the given number of calls, the decoder calls then.
func withDecoder(tb testing.TB, calls int64, then func(context.Context) error) []tritontest.Model {
	models := toyModels(tb, 0)
	models[1] = tritontest.After(calls, models[1], then)
	return models
}

// generate posts to /generate and returns the status, the header and the answer.
func (r *harness) generate(body string) (status int, reason string, answer Generated, text string) {
	r.tb.Helper()
	res, err := http.Post(r.url+"/generate", "application/json", strings.NewReader(body))
	if err != nil {
		r.tb.Fatal(err)
	}
	defer res.Body.Close()
	var raw json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&raw); err != nil {
		r.tb.Fatal(err)
	}
	_ = json.Unmarshal(raw, &answer)
	return res.StatusCode, res.Header.Get(unfinished.Header), answer, string(raw)
}

const long = `{"smi": "` + plain + `", "iterations": 1000, "particles": 20, "min_similarity": 0.1, "num_molecules": 5`

// stopOnce stops the gateway once a model hangs.
func (r *harness) stopOnce(started <-chan struct{}) {
	go func() {
		<-started
		r.stop()
	}()
}

func TestAStoppedGatewayAnswersTheResultsSoFar(t *testing.T) {
	for _, more := range []string{`}`, `, "include_scores": true}`, `, "evaluated": true}`} {
		started := make(chan struct{}, 1)
		r := start(t, standard, withDecoder(t, 6, hang(started))...)
		r.stopOnce(started)
		status, reason, answer, text := r.generate(long + more)
		found, _ := answer.Generated.([]any)
		isMarked := answer.Unfinished != nil && answer.Unfinished.Reason == unfinished.Stopping
		if status != 200 || reason != "stopping" || len(found) == 0 || !isMarked {
			t.Errorf("%s: %d %q %s", more, status, reason, text)
		}
		if strings.Contains(more, "evaluated") && len(answer.Evaluated) <= len(found) {
			t.Errorf("%d molecules are listed as evaluated", len(answer.Evaluated))
		}
	}
}

func TestADeadlineBeforeAnyResultIsATimeout(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	var request Generate
	request.SetDefaults()
	request.Smi.Smiles = []string{plain}
	passed := unfinished.Limits{End: time.Unix(0, 0)}
	_, err := r.service.Generate(unfinished.WithLimits(t.Context(), passed), request)
	if fault.KindOf(err) != fault.Timeout {
		t.Errorf("%v", err)
	}
}

func TestAModelFailsDuringASearch(t *testing.T) {
	r := start(t, standard, withDecoder(t, 6, fail)...)
	status, reason, answer, text := r.generate(long + `}`)
	if status != 200 || reason != "model" || len(answer.Generated.([]any)) == 0 {
		t.Errorf("%d %q %s", status, reason, text)
	} else if message := answer.Unfinished.Message; message != "the model failed" {
		t.Errorf("message %q", message)
	}
	if strings.Contains(text, errFailed.Error()) {
		t.Errorf("the answer shows the error of the model: %s", text)
	}
	failsAtOnce := start(t, standard, withDecoder(t, 0, fail)...)
	if status, reason, _, text := failsAtOnce.generate(long + `}`); status != 500 || reason != "" {
		t.Errorf("without results: %d %q %s", status, reason, text)
	}
}

func TestAnOracleFailsDuringASearch(t *testing.T) {
	const objective = `, "objective": "bit_count"}`
	for _, unguided := range []bool{false, true} {
		body := long + objective
		calls := int64(4) // two of them are the check of the oracle and the seed
		if unguided {
			calls = 2 // one round has more molecules than a call takes
			body = `{"smi": "` + plain + `", "algorithm": "none", "particles": 200, "num_molecules": 100` + objective
		}
		r := start(t, standard, append(toyModels(t, 0), tritontest.After(calls, oracleModel(t), fail))...)
		status, reason, answer, text := r.generate(body)
		if status != 200 || reason != "oracle" || len(answer.Generated.([]any)) == 0 {
			t.Errorf("%d %q %s", status, reason, text)
			continue
		}
		message := answer.Unfinished.Message
		if !strings.Contains(message, "the oracle bit_count failed") || !strings.Contains(message, errFailed.Error()) {
			t.Errorf("message %q", message)
		}
	}
	first := start(t, standard, append(toyModels(t, 0), tritontest.After(1, oracleModel(t), fail))...)
	if status, reason, _, text := first.generate(long + objective); status != 503 || reason != "" {
		t.Errorf("without scores: %d %q %s", status, reason, text)
	}
}

func TestAnOracleOfAFilterFailsDuringASearch(t *testing.T) {
	const body = long + `, "filters": [{"name": "bit_count", "min": 0}]}`
	r := start(t, standard, append(toyModels(t, 0), tritontest.After(4, oracleModel(t), fail))...)
	status, reason, answer, text := r.generate(body)
	if status != 200 || reason != "oracle" || len(answer.Generated.([]any)) == 0 || answer.LeftOut.Molecules != 0 ||
		!strings.Contains(answer.Unfinished.Message, "the oracle bit_count failed") {
		t.Errorf("%d %q %s", status, reason, text)
	}
	first := start(t, standard, append(toyModels(t, 0), tritontest.After(1, oracleModel(t), fail))...)
	status, reason, _, text = first.generate(body)
	if status != 503 || reason != "" || !strings.Contains(text, "the oracle bit_count failed") {
		t.Errorf("without results: %d %q %s", status, reason, text)
	}
}

// With a list of seeds, the answer names the seeds whose searches were cut short.
func TestUnfinishedSeedsAreNamed(t *testing.T) {
	started := make(chan struct{}, 1)
	r := start(t, standard, withDecoder(t, 12, hang(started))...)
	r.stopOnce(started)
	status, reason, answer, text := r.generate(`{"smi": ["` + plain + `", "C("], "skip_invalid": true,
		"iterations": 1000, "min_similarity": 0.1}`)
	lists, _ := answer.Generated.([]any)
	if status != 200 || reason != "stopping" || len(lists) != 2 || lists[0] == nil || lists[1] != nil {
		t.Errorf("%d %q %s", status, reason, text)
	} else if !slices.Equal(answer.Unfinished.Seeds, []int{0}) {
		t.Errorf("unfinished seeds %v, want 0", answer.Unfinished.Seeds)
	}
}

func TestAStoppedStreamEndsWithTheResultsSoFar(t *testing.T) {
	started := make(chan struct{}, 1)
	r := start(t, standard, withDecoder(t, 12, hang(started))...)
	r.stopOnce(started)
	data := r.collect(long + `, "stream": true}`)
	var last Generated
	if err := json.Unmarshal([]byte(data[len(data)-1]), &last); err != nil || len(data) < 2 || last.Unfinished == nil ||
		last.Unfinished.Reason != unfinished.Stopping || len(last.Generated.([]any)) == 0 {
		t.Errorf("%v: %v", err, data)
	}
}

// The events of a stream have the results so far, and another search can start from them.
func TestASearchStartsFromCheckpoints(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	const request = `{"smi": "` + plain + `", "particles": 20, "min_similarity": 0.2, "num_molecules": 5,
		"include_scores": true, "seed": 3, `
	var last Progress
	err := r.events(t.Context(), request+`"iterations": 8, "checkpoints": true, "stream": true}`, func(d string) {
		if strings.HasPrefix(d, `{"seed"`) {
			_ = json.Unmarshal([]byte(d), &last)
		}
	})
	if err != nil || len(last.Found) == 0 {
		t.Fatalf("last event %+v, error %v", last, err)
	}
	if first := last.Found[0]; first.Smiles != last.Best.Smiles || first.Similarity == nil {
		t.Errorf("first result %+v, best %+v", first, last.Best)
	}
	var starts []string
	for _, m := range last.Found {
		starts = append(starts, m.Smiles)
	}
	text, _ := json.Marshal([][]string{append(starts, "no molecule")})
	status, _, answer, body := r.generate(request + `"iterations": 1, "starts": ` + string(text) + `}`)
	found, _ := answer.Generated.([]any)
	if status != 200 || len(found) == 0 || found[0].(map[string]any)["score"].(float64) < last.Found[0].Score {
		t.Errorf("%d %s", status, body)
	}
	if status, _, _, body := r.generate(request + `"iterations": 1, "starts": []}`); status != 200 {
		t.Errorf("no starts: %d %s", status, body)
	}
	for _, invalid := range []string{`"starts": [["CC"], ["CC"]]`, `"algorithm": "none", "starts": [["CC"]]`} {
		status, _, _, body := r.generate(request + `"iterations": 1, ` + invalid + `}`)
		if status != 422 || !strings.Contains(body, `"starts"`) {
			t.Errorf("%s: %d %s", invalid, status, body)
		}
	}
}
