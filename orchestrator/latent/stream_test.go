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

// events reads the data of every event until the stream ends.
func (r *room) events(ctx context.Context, body string, each func(data string)) error {
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

func TestStream(t *testing.T) {
	r := start(t, standard, toyModels(t, 0)...)
	const request = `{"smi": ["` + plain + `", "` + ibuprofen + `"], "iterations": 6, "particles": 20, "num_molecules": 3, "min_similarity": 0.2, "seed": 5`
	var data []string
	if err := r.events(t.Context(), request+`, "stream": true}`, func(d string) { data = append(data, d) }); err != nil {
		t.Fatal(err)
	}
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
		if p.Iteration != before.Iteration+1 || p.Evaluations <= before.Evaluations || p.Evaluations > 20*p.Iteration || before.Best != nil && (p.Best == nil || p.Best.Score < before.Best.Score) {
			t.Errorf("%+v after %+v", p, before)
		}
		last[p.Seed] = p
	}
	if len(last) != 2 || last[1].Iteration != 6 || last[0].Best == nil || last[0].Best.Similarity == nil {
		t.Errorf("progress ended with %+v", last)
	}
	if _, whole := r.post("/generate", request+"}"); whole != data[12] {
		t.Errorf("the last event is %s, the answer without a stream %s", data[12], whole)
	}
}

// A stream of a search for an oracle and another term, from several molecules at once and from none.
func TestAStreamOfAnObjective(t *testing.T) {
	r := start(t, standard, append(toyModels(t, 0), oracleModel(t))...)
	for _, smi := range []string{`[]`, `["` + plain + `", "` + ibuprofen + `"]`} {
		request := `{"smi": ` + smi + `, "shared": true, "iterations": 8, "particles": 20, "num_molecules": 3, "seed": 5, "include_scores": true,
			"min_similarity": 0, "evaluated": true, "objective": {"combine": "geometric_mean", "terms": ["bit_count", "QED"]}`
		var data []string
		if err := r.events(t.Context(), request+`, "stream": true}`, func(d string) { data = append(data, d) }); err != nil || len(data) < 9 {
			t.Fatalf("%d events: %v", len(data), err)
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
		if err := json.Unmarshal([]byte(end), &answer); err != nil || len(answer.Generated) != 3 || answer.Generated[0].Score != best {
			t.Errorf("the best of the stream is %v, its end %s (%v)", best, end, err)
		}
		found := func(m Molecule) bool { return m.Smiles == answer.Generated[0].Smiles && m.Score == best }
		if !slices.ContainsFunc(answer.Evaluated, found) {
			t.Errorf("%+v is not among those evaluated", answer.Generated[0])
		}
		if _, whole := r.post("/generate", request+"}"); whole != end {
			t.Errorf("the last event is %s, the answer without a stream %s", end, whole)
		}
	}
}

// What fails after the first event is worded within the stream, where nothing was found: methane has no neighbours.
func TestStreamThatFails(t *testing.T) {
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

// When a client leaves, of a stream or a plain request, the current call to the model and all further work are cancelled.
func TestALeavingClientEndsTheWork(t *testing.T) {
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
		ctx, leave := context.WithCancel(t.Context())
		go func() {
			<-started
			leave()
		}()
		body := `{"smi": "` + plain + `", "iterations": 1000, "stream": ` + stream + `}`
		if stream == "true" {
			_ = r.events(ctx, body, func(string) {})
		} else {
			request, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/generate", strings.NewReader(body))
			request.Header.Set("Content-Type", "application/json")
			if _, err := http.DefaultClient.Do(request); err == nil {
				t.Error("1000 iterations were done at once")
			}
		}
		<-ended
		r.drain()
		if calls := decodings(r); calls != answered+1 {
			t.Errorf("stream %s: %d calls of the decoder, the client left during call %d", stream, calls, answered+1)
		}
	}
}
