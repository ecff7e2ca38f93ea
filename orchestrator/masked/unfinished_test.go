package masked

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
	"retort/orchestrator/unfinished"
)

func fail(context.Context) error { return errors.New("secret of the model") }

// startWith starts the API over the given models.
func startWith(t *testing.T, models ...tritontest.Model) *harness {
	t.Helper()
	server := tritontest.Start(t, models...)
	return serve(t, Config{}, server, server.Client(), "testdata")
}

// byteOracle is an oracle that scores a molecule by the length of its SMILES in bytes.
func byteOracle(t *testing.T) tritontest.Model {
	return tritontest.Model{
		Name: "bytes",
		Config: tritontest.Config(t, `name: "bytes" max_batch_size: 16
input [ { name: "smiles" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "score" data_type: TYPE_FP32 dims: [ 1 ] } ]
parameters { key: "retort_api" value { string_value: "oracle" } }`),
		Infer: func(_ context.Context, r *triton.Request) (*triton.Response, error) {
			in, _ := tritontest.Input(r, "smiles")
			texts, err := tritontest.Texts(in)
			if err != nil {
				return nil, err
			}
			scores := make([]float32, len(texts))
			for i, text := range texts {
				scores[i] = float32(len(text))
			}
			return &triton.Response{Outputs: []triton.Tensor{triton.Float32s("score", in.Shape, scores)}}, nil
		}}
}

// unfinishedAnswer posts to /generate and returns the answer and its unfinished.Header.
func (h *harness) unfinishedAnswer(body string) (status int, reason string, answer Response, text string) {
	h.t.Helper()
	res, err := http.Post(h.url+"/generate", "application/json", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	status, text = h.read(res)
	_ = json.Unmarshal([]byte(text), &answer)
	return status, res.Header.Get(unfinished.Header), answer, text
}

// If the model fails at once, the warm starts of the request alone are no answer.
func TestModelFailsAtOnce(t *testing.T) {
	for _, more := range []string{"", `, "evaluated": true`} {
		h := startWith(t, tritontest.After(0, toy(t), fail))
		body := `{"smi": ["CCO", "CCN"], "num_molecules": 5, "rounds": 2, "seed": 4` + more + `}`
		status, reason, _, text := h.unfinishedAnswer(body)
		if status == http.StatusOK || reason != "" {
			t.Errorf("%q: %d %q %s", more, status, reason, text)
		}
	}
}

// If a call to the model fails, in the first generation or a later round, the answer has the molecules of earlier
// calls.
func TestModelFailsMidway(t *testing.T) {
	for name, body := range map[string]string{
		"first":  `{"num_molecules": 200, "attempts": 1, "seed": 4}`,
		"rounds": `{"num_molecules": 5, "rounds": 50, "attempts": 1, "seed": 4, "evaluated": true}`,
	} {
		h := startWith(t, tritontest.After(3, toy(t), fail))
		status, reason, answer, text := h.unfinishedAnswer(body)
		if status != 200 || reason != "model" || answer.Status != "success" || len(answer.Molecules) == 0 ||
			answer.Unfinished == nil || answer.Unfinished.Reason != unfinished.Model {
			t.Errorf("%s: %d %q %s", name, status, reason, text)
		}
		if strings.Contains(text, "secret of the model") {
			t.Errorf("the answer shows the error of the model: %s", text)
		}
	}
	h := startWith(t, tritontest.After(0, toy(t), fail))
	if status, reason, _, text := h.unfinishedAnswer(`{}`); status != 500 || reason != "" {
		t.Errorf("without molecules: %d %q %s", status, reason, text)
	}
}

func TestOracleFailsMidway(t *testing.T) {
	h := startWith(t, toy(t), tritontest.After(3, byteOracle(t), fail)) // the first call is the probe
	status, reason, answer, text := h.unfinishedAnswer(
		`{"num_molecules": 150, "attempts": 1, "seed": 4, "objective": "bytes"}`)
	if status != 200 || reason != "oracle" || len(answer.Molecules) == 0 || len(answer.Molecules) > 32 ||
		!strings.Contains(answer.Unfinished.Message, "the oracle bytes failed") {
		t.Errorf("%d %q %s", status, reason, text)
	}
	// Scored warm starts are an answer.
	h = startWith(t, toy(t), tritontest.After(2, byteOracle(t), fail))
	smi := `"CCN", "CCCN", "CCCCN", "CCO", "` + strings.Join(strings.Split(strings.Repeat("C", 30), ""), `", "C`) + `"`
	status, reason, answer, text = h.unfinishedAnswer(`{"smi": [` + smi + `], "rounds": 2, "objective": "bytes"}`)
	if status != 200 || reason != "oracle" || len(answer.Molecules) == 0 {
		t.Errorf("%d %q %s", status, reason, text)
	}
	h = startWith(t, toy(t), tritontest.After(1, byteOracle(t), fail))
	if status, reason, _, text = h.unfinishedAnswer(`{"objective": "bytes"}`); status != 503 || reason != "" {
		t.Errorf("without scores: %d %q %s", status, reason, text)
	}
}

// If the oracle of a filter fails, the answer has the molecules that passed before, and names the oracle.
func TestOracleOfFilterFailsMidway(t *testing.T) {
	const body = `{"num_molecules": 5, "rounds": 50, "attempts": 1, "seed": 4, "filters": [{"name": "bytes", "min": 0}]}`
	h := startWith(t, toy(t), tritontest.After(9, byteOracle(t), fail)) // the first call is the probe
	status, reason, answer, text := h.unfinishedAnswer(body)
	if status != 200 || reason != "oracle" || len(answer.Molecules) == 0 || answer.LeftOut.Molecules != 0 ||
		!strings.Contains(answer.Unfinished.Message, "the oracle bytes failed") {
		t.Errorf("%d %q %s", status, reason, text)
	}
	h = startWith(t, toy(t), tritontest.After(1, byteOracle(t), fail))
	status, reason, _, text = h.unfinishedAnswer(body)
	if status != 503 || reason != "" || !strings.Contains(text, "the oracle bytes failed") {
		t.Errorf("without molecules: %d %q %s", status, reason, text)
	}
}

func TestShutdownAnswersMoleculesSoFar(t *testing.T) {
	for _, stream := range []bool{false, true} {
		blocked := make(chan struct{}, 1)
		h := startWith(t, tritontest.After(4, toy(t), func(ctx context.Context) error {
			select {
			case blocked <- struct{}{}:
			default:
			}
			<-ctx.Done()
			return ctx.Err()
		}))
		go func() {
			<-blocked
			h.stop()
		}()
		const body = `{"num_molecules": 4, "rounds": 50, "attempts": 1, "seed": 4`
		var answer Response
		reason := "stopping"
		if stream {
			data := h.events(body + `, "stream": true}`)
			if err := json.Unmarshal([]byte(data[len(data)-1]), &answer); err != nil {
				t.Fatal(err)
			}
		} else {
			_, reason, answer, _ = h.unfinishedAnswer(body + `}`)
		}
		if reason != "stopping" || len(answer.Molecules) == 0 ||
			answer.Unfinished == nil || answer.Unfinished.Reason != unfinished.Stopping {
			t.Errorf("stream %v: %q %+v", stream, reason, answer)
		}
	}
}
