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

// hang waits for the caller to give up, and says so when it begins.
func hang(begun chan<- struct{}) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case begun <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

func fail(context.Context) error { return errors.New("no more of that") }

// withDecoder is the toy models with another decoder.
func withDecoder(tb testing.TB, calls int64, then func(context.Context) error) []tritontest.Model {
	models := toyModels(tb, 0)
	models[1] = tritontest.After(calls, models[1], then)
	return models
}

// generate posts to /generate and returns the answer with its header.
func (r *room) generate(body string) (status int, reason string, answer Generated, text string) {
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

// stopOnce stops the gateway when a model hangs.
func (r *room) stopOnce(begun <-chan struct{}) {
	go func() {
		<-begun
		r.stop()
	}()
}

func TestAStoppedGatewayAnswersWhatWasFound(t *testing.T) {
	for _, more := range []string{`}`, `, "include_scores": true}`, `, "evaluated": true}`} {
		begun := make(chan struct{}, 1)
		r := start(t, standard, withDecoder(t, 6, hang(begun))...)
		r.stopOnce(begun)
		status, reason, answer, text := r.generate(long + more)
		found, _ := answer.Generated.([]any)
		if status != 200 || reason != "stopping" || len(found) == 0 || answer.Unfinished == nil || answer.Unfinished.Reason != unfinished.Stopping {
			t.Errorf("%s: %d %q %s", more, status, reason, text)
		}
		if strings.Contains(more, "evaluated") && len(answer.Evaluated) <= len(found) {
			t.Errorf("%d molecules are listed as evaluated", len(answer.Evaluated))
		}
	}
}

func TestNothingBeforeTheDeadlineIsATimeout(t *testing.T) {
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

func TestAModelThatFailsHalfWay(t *testing.T) {
	r := start(t, standard, withDecoder(t, 6, fail)...)
	status, reason, answer, text := r.generate(long + `}`)
	if status != 200 || reason != "model" || len(answer.Generated.([]any)) == 0 || answer.Unfinished.Message != "the model failed" {
		t.Errorf("%d %q %s", status, reason, text)
	}
	if strings.Contains(text, "no more of that") {
		t.Errorf("the answer shows what the model said: %s", text)
	}
	begun := start(t, standard, withDecoder(t, 0, fail)...)
	if status, reason, _, text := begun.generate(long + `}`); status != 500 || reason != "" {
		t.Errorf("nothing was found: %d %q %s", status, reason, text)
	}
}

func TestAnOracleThatFailsHalfWay(t *testing.T) {
	const asking = `, "objective": "bit_count"}`
	for _, unguided := range []bool{false, true} {
		body := long + asking
		calls := int64(4) // the probe and the seed are two
		if unguided {     // of which one round has more molecules than a call takes
			calls = 2
			body = `{"smi": "` + plain + `", "algorithm": "none", "particles": 200, "num_molecules": 100` + asking
		}
		r := start(t, standard, append(toyModels(t, 0), tritontest.After(calls, oracleModel(t), fail))...)
		status, reason, answer, text := r.generate(body)
		if status != 200 || reason != "oracle" || len(answer.Generated.([]any)) == 0 {
			t.Errorf("%d %q %s", status, reason, text)
			continue
		}
		if message := answer.Unfinished.Message; !strings.Contains(message, "the oracle bit_count failed") || !strings.Contains(message, "no more of that") {
			t.Errorf("the message is %q", message)
		}
	}
	first := start(t, standard, append(toyModels(t, 0), tritontest.After(1, oracleModel(t), fail))...)
	if status, reason, _, text := first.generate(long + asking); status != 503 || reason != "" {
		t.Errorf("nothing was scored: %d %q %s", status, reason, text)
	}
}

// Of a list of seeds each has what its search found, and the answer says which have not come to their end.
func TestUnfinishedSeedsAreNamed(t *testing.T) {
	begun := make(chan struct{}, 1)
	r := start(t, standard, withDecoder(t, 12, hang(begun))...)
	r.stopOnce(begun)
	status, reason, answer, text := r.generate(`{"smi": ["` + plain + `", "C("], "skip_invalid": true, "iterations": 1000, "min_similarity": 0.1}`)
	lists, _ := answer.Generated.([]any)
	if status != 200 || reason != "stopping" || len(lists) != 2 || lists[0] == nil || lists[1] != nil || !slices.Equal(answer.Unfinished.Seeds, []int{0}) {
		t.Errorf("%d %q %s", status, reason, text)
	}
}

func TestAStreamEndsWithWhatWasFound(t *testing.T) {
	begun := make(chan struct{}, 1)
	r := start(t, standard, withDecoder(t, 12, hang(begun))...)
	r.stopOnce(begun)
	var data []string
	if err := r.events(t.Context(), long+`, "stream": true}`, func(d string) { data = append(data, d) }); err != nil {
		t.Fatal(err)
	}
	var last Generated
	if err := json.Unmarshal([]byte(data[len(data)-1]), &last); err != nil || len(data) < 2 || last.Unfinished == nil ||
		last.Unfinished.Reason != unfinished.Stopping || len(last.Generated.([]any)) == 0 {
		t.Errorf("%v: %v", err, data)
	}
}

// The events of a stream show what was found, and another search can begin with it.
func TestASearchGoesOnFromWhatAnotherFound(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	const request = `{"smi": "` + plain + `", "particles": 20, "min_similarity": 0.2, "num_molecules": 5, "include_scores": true, "seed": 3, `
	var last Progress
	err := r.events(t.Context(), request+`"iterations": 8, "checkpoints": true, "stream": true}`, func(d string) {
		if strings.HasPrefix(d, `{"seed"`) {
			_ = json.Unmarshal([]byte(d), &last)
		}
	})
	if err != nil || len(last.Found) == 0 || last.Found[0].Smiles != last.Best.Smiles || last.Found[0].Similarity == nil {
		t.Fatalf("%+v %v", last, err)
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
	for _, wrong := range []string{`"starts": []`, `"starts": [["CC"], ["CC"]]`, `"algorithm": "none", "starts": [["CC"]]`} {
		want := 422
		if wrong == `"starts": []` {
			want = 200
		}
		if status, _, _, body := r.generate(request + `"iterations": 1, ` + wrong + `}`); status != want || want == 422 && !strings.Contains(body, `"starts"`) {
			t.Errorf("%s: %d %s", wrong, status, body)
		}
	}
}
