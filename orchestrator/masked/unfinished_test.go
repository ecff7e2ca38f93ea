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

func fail(context.Context) error { return errors.New("no more of that") }

// startWith is start with models that tests have changed.
func startWith(t *testing.T, models ...tritontest.Model) *harness {
	t.Helper()
	server := tritontest.Start(t, models...)
	return serve(t, Config{}, server, server.Client(), "testdata")
}

// counting is an oracle: the number of bytes of a molecule.
func counting(t *testing.T) tritontest.Model {
	return tritontest.Model{
		Name: "bytes",
		Config: tritontest.Config(t, `name: "bytes" max_batch_size: 16
input [ { name: "smiles" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "score" data_type: TYPE_FP32 dims: [ 1 ] } ]
parameters { key: "retort_api" value { string_value: "oracle" } }`),
		Infer: func(_ context.Context, r *triton.Request) (*triton.Response, error) {
			in, _ := r.Input("smiles")
			texts, err := in.Strings()
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

// unfinishedAnswer posts to /generate and returns the answer and its header.
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

// What the request gave to start from is nothing that was found.
func TestAModelThatFailsAtOnce(t *testing.T) {
	for _, more := range []string{"", `, "evaluated": true`} {
		h := startWith(t, tritontest.After(0, toy(t), fail))
		status, reason, _, text := h.unfinishedAnswer(`{"smi": ["CCO", "CCN"], "num_molecules": 5, "rounds": 2, "seed": 4` + more + `}`)
		if status == http.StatusOK || reason != "" {
			t.Errorf("%q: %d %q %s", more, status, reason, text)
		}
	}
}

// A call to the model that fails takes nothing of the calls before it: of the first generation as of a later round.
func TestAModelThatFailsHalfWay(t *testing.T) {
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
		if strings.Contains(text, "no more of that") {
			t.Errorf("the answer shows what the model said: %s", text)
		}
	}
	if status, reason, _, text := startWith(t, tritontest.After(0, toy(t), fail)).unfinishedAnswer(`{}`); status != 500 || reason != "" {
		t.Errorf("nothing was found: %d %q %s", status, reason, text)
	}
}

func TestAnOracleThatFailsHalfWay(t *testing.T) {
	h := startWith(t, toy(t), tritontest.After(3, counting(t), fail)) // the first call is the probe
	status, reason, answer, text := h.unfinishedAnswer(`{"num_molecules": 150, "attempts": 1, "seed": 4, "objective": "bytes"}`)
	if status != 200 || reason != "oracle" || len(answer.Molecules) == 0 || len(answer.Molecules) > 32 ||
		!strings.Contains(answer.Unfinished.Message, "the oracle bytes failed") {
		t.Errorf("%d %q %s", status, reason, text)
	}
	// Molecules to start from that were scored are an answer too.
	h = startWith(t, toy(t), tritontest.After(2, counting(t), fail))
	starts := `"CCO", "` + strings.Join(strings.Split(strings.Repeat("C", 30), ""), `", "C`) + `"`
	status, reason, answer, text = h.unfinishedAnswer(`{"smi": ["CCN", "CCCN", "CCCCN", ` + starts + `], "rounds": 2, "objective": "bytes"}`)
	if status != 200 || reason != "oracle" || len(answer.Molecules) == 0 {
		t.Errorf("%d %q %s", status, reason, text)
	}
	h = startWith(t, toy(t), tritontest.After(1, counting(t), fail))
	if status, reason, _, text = h.unfinishedAnswer(`{"objective": "bytes"}`); status != 503 || reason != "" {
		t.Errorf("nothing was scored: %d %q %s", status, reason, text)
	}
}

func TestAStoppedGatewayAnswersWhatWasFound(t *testing.T) {
	for _, stream := range []bool{false, true} {
		begun := make(chan struct{}, 1)
		h := startWith(t, tritontest.After(4, toy(t), func(ctx context.Context) error {
			select {
			case begun <- struct{}{}:
			default:
			}
			<-ctx.Done()
			return ctx.Err()
		}))
		go func() {
			<-begun
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
		if reason != "stopping" || len(answer.Molecules) == 0 || answer.Unfinished == nil || answer.Unfinished.Reason != unfinished.Stopping {
			t.Errorf("stream %v: %q %+v", stream, reason, answer)
		}
	}
}
