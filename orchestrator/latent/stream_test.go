package latent

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// events posts a body to /generate and calls each with the data of every event until the stream ends.
func (r *harness) events(ctx context.Context, body string, each func(data string)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/generate", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		text, _ := io.ReadAll(response.Body)
		r.tb.Errorf("%d %s %s", response.StatusCode, kind, text)
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			each(data)
		}
	}
	return lines.Err()
}

// collect returns the data of every event.
func (r *harness) collect(body string) (data []string) {
	r.tb.Helper()
	if err := r.events(r.tb.Context(), body, func(d string) { data = append(data, d) }); err != nil {
		r.tb.Fatal(err)
	}
	return data
}

func TestAStream(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	const request = `{"smi": ["` + plain + `", "` + ibuprofen + `"], "iterations": 6, "particles": 20,
		"num_molecules": 3, "min_similarity": 0.2, "seed": 5`
	data := r.collect(request + `, "stream": true}`)
	if len(data) != 13 {
		t.Fatalf("%d events: %v", len(data), data)
	}
	last := map[int]Progress{}
	for _, text := range data[:12] {
		var p Progress
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatal(err)
		}
		before := last[p.Seed]
		if p.Iteration != before.Iteration+1 || p.Evaluations <= before.Evaluations || p.Evaluations > 20*p.Iteration {
			t.Errorf("%+v after %+v", p, before)
		}
		if before.Best != nil && (p.Best == nil || p.Best.Score < before.Best.Score) {
			t.Errorf("best %+v after %+v", p.Best, before.Best)
		}
		last[p.Seed] = p
	}
	if len(last) != 2 || last[1].Iteration != 6 || last[0].Best == nil || last[0].Best.Similarity == nil {
		t.Errorf("progress ended with %+v", last)
	}
	if _, answer := r.post("/generate", request+"}"); answer != data[12] {
		t.Errorf("the last event is %s, the answer without a stream %s", data[12], answer)
	}
}

// A stream of a shared search for an oracle and another term, from two seeds and from none.
func TestAStreamOfAnObjective(t *testing.T) {
	r := start(t, standard, append(toyModels(t, 0), oracleModel(t))...)
	for _, smi := range []string{`[]`, `["` + plain + `", "` + ibuprofen + `"]`} {
		request := `{"smi": ` + smi + `, "shared": true, "iterations": 8, "particles": 20, "num_molecules": 3,
			"seed": 5, "include_scores": true, "min_similarity": 0, "evaluated": true,
			"objective": {"combine": "geometric_mean", "terms": ["bit_count", "QED"]}`
		data := r.collect(request + `, "stream": true}`)
		if len(data) < 9 {
			t.Fatalf("%d events", len(data))
		}
		best := 0.0
		for _, text := range data[:len(data)-1] {
			var p Progress
			if err := json.Unmarshal([]byte(text), &p); err != nil || p.Best != nil && p.Best.Score < best {
				t.Fatalf("%s after %v: %v", text, best, err)
			}
			if p.Best != nil {
				best = p.Best.Score
			}
		}
		end := data[len(data)-1]
		var answer struct{ Generated, Evaluated []Molecule }
		if err := json.Unmarshal([]byte(end), &answer); err != nil || len(answer.Generated) != 3 {
			t.Fatalf("the last event is %s (%v)", end, err)
		}
		if score := answer.Generated[0].Score; score != best {
			t.Errorf("best score %v in the answer, %v in the events", score, best)
		}
		isBest := func(m Molecule) bool { return m.Smiles == answer.Generated[0].Smiles && m.Score == best }
		if !slices.ContainsFunc(answer.Evaluated, isBest) {
			t.Errorf("%+v is not among the evaluated molecules", answer.Generated[0])
		}
		if _, plainAnswer := r.post("/generate", request+"}"); plainAnswer != end {
			t.Errorf("the last event is %s, the answer without a stream %s", end, plainAnswer)
		}
	}
}

// A failure after the first event is the last event, if there are no results: methane has no neighbours.
func TestAStreamThatFails(t *testing.T) {
	r := start(t, standard, toyModels(t, 20*time.Millisecond)...)
	var data []string
	err := r.events(t.Context(), `{"smi": "C", "iterations": 1000, "stream": true}`, func(d string) {
		if data = append(data, d); len(data) == 2 {
			r.triton.Stop()
		}
	})
	if err != nil || len(data) < 3 || !strings.HasPrefix(data[len(data)-1], `{"detail":"`) {
		t.Errorf("%v: %v", err, data)
	}
}

// If the client of a stream or of a plain request disconnects, the call to the model in flight is cancelled and no
// more follow.
func TestADisconnectEndsTheWork(t *testing.T) {
	const answered = 4 // calls of the decoder before one hangs
	for _, stream := range []string{"true", "false"} {
		started := make(chan struct{}, 1)
		ended := make(chan struct{}, 1)
		r := start(t, standard, withDecoder(t, answered, func(ctx context.Context) error {
			started <- struct{}{}
			<-ctx.Done()
			ended <- struct{}{}
			return ctx.Err()
		})...)
		ctx, disconnect := context.WithCancel(t.Context())
		go func() {
			<-started
			disconnect()
		}()
		body := `{"smi": "` + plain + `", "iterations": 1000, "stream": ` + stream + `}`
		if stream == "true" {
			_ = r.events(ctx, body, func(string) {})
		} else {
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/generate", strings.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			if _, err := http.DefaultClient.Do(request); err == nil {
				t.Error("a request whose client had disconnected was answered")
			}
		}
		<-ended
		r.drain()
		if calls := decoderCalls(r); calls != answered+1 {
			t.Errorf("stream %s: %d calls of the decoder, the client disconnected during call %d", stream, calls, answered+1)
		}
	}
}
