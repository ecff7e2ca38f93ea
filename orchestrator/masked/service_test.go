package masked

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"retort/chem"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/orchestrator/triton/tritontest"
)

func (h *harness) generate(body string) []Molecule {
	h.t.Helper()
	status, text := h.post(body)
	var answer Response
	err := json.Unmarshal([]byte(text), &answer)
	if err != nil || status != 200 || answer.Status != "success" || answer.Molecules == nil {
		h.t.Fatalf("%s: %d %s (%v)", body, status, text, err)
	}
	return answer.Molecules
}

// Molecules contain the given fragments and are canonical, scored and ranked, for every kind of template.
func TestGenerate(t *testing.T) {
	h := start(t, Config{})
	for _, template := range []string{
		"C124CN3C1.S3(=O)(=O)CC.C4C#N.[*{20-20}]",
		"[C@H]1O[C@@H](CO)[C@H](O)[C@@H]1O.[*{15-15}]",
		"[11*]C1(CC#N)CN(S(=O)(=O)CC)C1.[13*]c1ncnc2[nH]ccc12",
		"[1*]N1CC([2*])(n2cc(-c3ncnc4[nH]ccc34)cn2)C1",
		"c1nc(-c2cnn(C3CNC3)c2)c2cc[nH]c2n1",
		"c1ccccc1[*{5-8}]C(=O)N",
		"[*{3-5}].c1ccncc1.[*{6-9}].CC(=O)O",
		"O=C(C)Oc1ccccc1C(=O)O",
	} {
		for _, scoring := range []string{"QED", "LogP"} {
			body, _ := json.Marshal(map[string]any{
				"smiles": template, "num_molecules": 20, "scoring": scoring, "seed": 3, "scores": true,
			})
			molecules := h.generate(string(body))
			if len(molecules) < 10 {
				t.Errorf("%s: only %d molecules of 20", template, len(molecules))
			}
			parsed, err := parseTemplate(template)
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range molecules {
				molecule, err := chem.Parse(m.SMILES)
				if err != nil || molecule.SMILES() != m.SMILES || strings.Contains(m.SMILES, ".") {
					t.Fatalf("%s: %s is not one canonical molecule: %v", template, m.SMILES, err)
				}
				if !parsed.isIn(m.SMILES) {
					t.Errorf("%s is not in %s", template, m.SMILES)
				}
				want := (&candidate{molecule: molecule, asWritten: m.Scores.AsWritten}).properties()
				wantScore := map[string]float64{"QED": want.QED, "LogP": want.LogP}[scoring]
				if m.Score != wantScore || *m.Scores != *want {
					t.Errorf("%s: score %v, %+v, want %v, %+v", m.SMILES, m.Score, m.Scores, wantScore, want)
				}
				if i > 0 && m.Score > molecules[i-1].Score {
					t.Errorf("%s: score %v after %v", template, m.Score, molecules[i-1].Score)
				}
			}
		}
	}
	molecules := h.generate(`{"smiles":"[C@H]1O[C@@H](CO)[C@H](O)[C@@H]1O.[*{9-9}]","num_molecules":5,"seed":1}`)
	if !strings.Contains(molecules[0].SMILES, "@") {
		t.Errorf("%s lacks the stereo of the given fragment", molecules[0].SMILES)
	}
}

// The model is shown carbon in place of given atoms that it has no token for; the molecules have the given atoms.
func TestUnknownGivenAtoms(t *testing.T) {
	h := start(t, Config{})
	for template, atom := range map[string]string{
		"C1CC1[Pt].[*{5-5}]":       "[Pt]",
		"[*]C[Sn](C)(C)C.[*{4-4}]": "[Sn]",
		"[*]c1cc[se]c1.[*{4-4}]":   "[se]",
		"[*][13CH2]O.[*{3-3}]":     "[13CH2]",
	} {
		molecules := h.generate(`{"smiles":"` + template + `","num_molecules":4,"seed":2}`)
		for _, m := range molecules {
			if !strings.Contains(m.SMILES, atom) {
				t.Errorf("%s: %s lacks %s", template, m.SMILES, atom)
			}
		}
		if len(molecules) == 0 {
			t.Errorf("%s: no molecules", template)
		}
	}
}

// Mask lengths are drawn for each molecule, from the whole range of the mask.
func TestMaskLengths(t *testing.T) {
	h := start(t, Config{})
	v := vocabulary(t)
	masks := func(body string) (counts map[int]int, rows int) {
		before := len(h.triton.Calls())
		h.generate(body)
		counts = map[int]int{}
		for _, call := range h.triton.Calls()[before:] {
			input, _ := tritontest.Input(call, "input_ids")
			ids, err := triton.Values[int64](input)
			if err != nil {
				t.Fatal(err)
			}
			for row := range slices.Chunk(ids, int(input.Shape[1])) {
				n := 0
				for _, id := range row {
					if id == int64(v.MASK) {
						n++
					}
				}
				counts[n]++
				rows++
			}
		}
		return counts, rows
	}
	for body, want := range map[string]struct{ least, most, oversampling int }{
		`{"smiles":"[*{15-25}]","num_molecules":300}`:                    {15, 25, otherOversample},
		`{"smiles":"[*{11-19}]","num_molecules":100}`:                    {11, 19, shortOversample},
		`{"smiles":"[*{50-60}]","num_molecules":100}`:                    {50, 60, longOversample},
		`{"smiles":"c1ccccc1[*].[*{4-6}].[*{1-3}]","num_molecules":200}`: {5, 9, tinyOversample},
		`{"smiles":"c1ccccc1[*{3-5}]C(=O)N","num_molecules":100}`:        {3, 5, tinyOversample},
		`{"num_molecules":300,"min_add_len":"14"}`:                       {14, 24, 1},
		// The longest molecule has 24 tokens. The given fragment has 9, or 10 API tokens: its dot counts twice.
		`{"smiles":"[*]c1ccccc1","num_molecules":100,"min_add_len":9}`:    {9, 14, 1},
		`{"smiles":"[*]c1ccccc1","num_molecules":20,"min_add_len":"128"}`: {117, 117, 1},
	} {
		counts, rows := masks(body)
		for n := range counts {
			if n < want.least || n > want.most {
				t.Errorf("%s: %d masks", body, n)
			}
		}
		for _, n := range []int{want.least, want.most} {
			if counts[n] == 0 {
				t.Errorf("%s: never %d masks: %v", body, n, counts)
			}
		}
		var request struct {
			NumMolecules int `json:"num_molecules"`
		}
		if err := json.Unmarshal([]byte(body), &request); err != nil || rows != request.NumMolecules*want.oversampling {
			t.Errorf("%s: %d rows (%v)", body, rows, err)
		}
	}
}

func TestSettingsReachTheModel(t *testing.T) {
	h := start(t, Config{})
	h.generate(`{"smiles":"[*{21-21}]","num_molecules":"3","temperature":"1.5","noise":"0.25","step_size":"4",
		"gamma":"0.5","unique":"True","model":"genmol","extra":{"a":1}}`)
	call := h.triton.Calls()[0]
	for name, want := range map[string]float32{"temperature": 1.5, "noise": 0.25, "gamma": 0.5} {
		input, _ := tritontest.Input(call, name)
		values, err := triton.Values[float32](input)
		if err != nil || !slices.Equal(values, slices.Repeat([]float32{want}, 3*otherOversample)) {
			t.Errorf("%s is %v (%v), want %v", name, values, err, want)
		}
	}
	size, _ := tritontest.Input(call, "step_size")
	if values, err := triton.Values[int64](size); err != nil || values[1] != 4 {
		t.Errorf("step_size is %v (%v)", values, err)
	}
	seed, _ := tritontest.Input(call, "seed")
	if values, err := triton.Values[int64](seed); err != nil || values[0] == values[1] || values[0] < 0 {
		t.Errorf("seeds are %v (%v)", values, err)
	}
}

// If the configured default model is absent, no other model replaces it.
func TestDefaultModel(t *testing.T) {
	h := start(t, Config{Model: "retort/toy-v1"})
	if molecules := h.generate(`{"num_molecules":1,"model":"genmol","seed":1}`); len(molecules) != 1 {
		t.Errorf("%v", molecules)
	}
	absent := New(Config{Model: "retort/other-v2"}, h.service.models, h.service.oracles, h.service.planner)
	var r Request
	r.SetDefaults()
	_, err := absent.Generate(t.Context(), r)
	for call, err := range map[string]error{"Ready": absent.Ready(), "Generate": err} {
		f := fault.As(err)
		if f == nil || f.Kind != fault.Unavailable || !strings.Contains(f.Message, "retort/other-v2 is not loaded") {
			t.Errorf("%s with an absent default model: %v", call, err)
		}
	}
	r.Model = "retort/toy-v1"
	if _, err := absent.Generate(t.Context(), r); err != nil {
		t.Errorf("with a model named by the request: %v", err)
	}
}

func TestUnique(t *testing.T) {
	h := start(t, Config{})
	count := func(body string) (all, distinct int) {
		seen := map[string]bool{}
		molecules := h.generate(body)
		for _, m := range molecules {
			seen[m.SMILES] = true
		}
		return len(molecules), len(seen)
	}
	const template = `{"smiles":"[*]c1ccccc1.[*{6-6}]","num_molecules":200,"seed":5`
	if all, distinct := count(template + `}`); all != 200 || distinct == all {
		t.Errorf("without unique: %d molecules, %d distinct, want 200 with duplicates", all, distinct)
	}
	first, distinct := count(template + `,"unique":true}`)
	if first != distinct || first == 200 {
		t.Errorf("with unique: %d molecules, %d distinct", first, distinct)
	}
	if all, distinct := count(template + `,"unique":"true","attempts":10}`); all != distinct || all <= first {
		t.Errorf("with ten attempts: %d molecules, %d distinct, five attempts gave %d", all, distinct, first)
	}
}

// A seed determines the answer: alone, with concurrent requests, from another gateway, and in a stream.
func TestSeeds(t *testing.T) {
	one, other := start(t, Config{}), start(t, Config{})
	body := func(seed int, more string) string {
		return fmt.Sprintf(`{"smiles":"C1CCNCC1[*].[*{4-12}]","num_molecules":40,"seed":%d%s}`, seed, more)
	}
	for _, more := range []string{``, `,"rounds":2`} {
		want := one.generate(body(7, more))
		if slices.Equal(want, one.generate(body(8, more))) {
			t.Error("another seed gives the same molecules")
		}
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				if seed := 7 + i%2; i%2 == 1 {
					other.generate(body(seed, more))
				} else if got := other.generate(body(seed, more)); !slices.Equal(got, want) {
					t.Errorf("with concurrent requests: %v, want %v", got, want)
				}
			})
		}
		all.Wait()
		events := one.events(body(7, more+`,"stream":true`))
		var last Response
		err := json.Unmarshal([]byte(events[len(events)-1]), &last)
		if err != nil || !slices.Equal(last.Molecules, want) {
			t.Errorf("the stream ends with %s (%v)", events[len(events)-1], err)
		}
	}
	if slices.Equal(one.generate(`{"smiles":"[*{20-20}]"}`), one.generate(`{"smiles":"[*{20-20}]"}`)) {
		t.Error("two requests without a seed give the same molecules")
	}
}

func (h *harness) events(body string) (data []string) {
	h.t.Helper()
	answer, err := http.Post(h.url+"/generate", "application/json", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	if kind := answer.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/event-stream") {
		h.t.Fatalf("content type %s, want an event stream", kind)
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			data = append(data, text)
		}
	}
	return data
}

func TestStream(t *testing.T) {
	h := start(t, Config{})
	events := h.events(`{"smiles":"[*{20-20}]","num_molecules":40,"rounds":1,"stream":"True"}`)
	var previous Progress
	for i, text := range events[:len(events)-1] {
		var p Progress
		err := json.Unmarshal([]byte(text), &p)
		if err != nil || p.Status != "running" || p.Requested != 40 || p.Rounds != 1 {
			t.Fatalf("event %d: %s (%v)", i, text, err)
		}
		if cmp.Or(cmp.Compare(p.Round, previous.Round), cmp.Compare(p.Generated, previous.Generated)) < 0 ||
			p.Valid < previous.Valid {
			t.Errorf("event %d goes back: %s after %+v", i, text, previous)
		}
		previous = p
	}
	if previous.Round != 1 || previous.Generated != 40 || previous.Best == nil {
		t.Errorf("the last progress is %+v", previous)
	}
	h.triton.Fail(func(*triton.Request) error { return fmt.Errorf("broken") })
	events = h.events(`{"smiles":"[*{20-20}]","num_molecules":4,"stream":true}`)
	if last := events[len(events)-1]; last != `{"status":"failed","error":"Internal server error"}` {
		t.Errorf("a failed stream ends with %s", last)
	}
}

// Rounds raise the scores and keep the given fragments.
func TestRemasking(t *testing.T) {
	h := start(t, Config{})
	mean := func(molecules []Molecule) (sum float64) {
		for _, m := range molecules {
			sum += m.Score / float64(len(molecules))
		}
		return sum
	}
	const body = `{"num_molecules":30,"seed":11,"min_add_len":12,"unique":true`
	plain, remasked := h.generate(body+`}`), h.generate(body+`,"rounds":5}`)
	if mean(remasked) < mean(plain)+0.05 {
		t.Errorf("five rounds change the mean QED from %.3f to %.3f", mean(plain), mean(remasked))
	}
	parsed, err := parseTemplate("[*]c1ccncc1")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range h.generate(`{"smiles":"[*]c1ccncc1.[*{8-16}]","num_molecules":20,"seed":2,"rounds":"3"}`) {
		if !parsed.isIn(m.SMILES) {
			t.Errorf("%s lacks the given fragment", m.SMILES)
		}
	}
}

// If the client disconnects, calls to the model in flight are cancelled and no more follow.
func TestDisconnect(t *testing.T) {
	const answered = 3 // calls; later ones block
	started := make(chan struct{}, 1)
	ended := make(chan struct{}, 1)
	h := startWith(t, tritontest.After(answered, toy(t), func(ctx context.Context) error {
		select {
		case started <- struct{}{}:
		default:
		}
		<-ctx.Done()
		select {
		case ended <- struct{}{}:
		default:
		}
		return ctx.Err()
	}))
	ctx, disconnect := context.WithCancel(t.Context())
	body := strings.NewReader(`{"num_molecules":1000,"rounds":50}`)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/generate", body)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-started
		disconnect()
	}()
	if answer, err := http.DefaultClient.Do(request); err == nil {
		answer.Body.Close()
		t.Errorf("51,000 rows were answered with %d", answer.StatusCode)
	}
	<-ended
	h.drain()
	const inFlight = 2 // the default of batching.Options
	if calls := len(h.triton.Calls()); calls > answered+inFlight {
		t.Errorf("%d calls, the client disconnected during call %d", calls, answered+1)
	}
}

func TestExpiredDeadline(t *testing.T) {
	h := start(t, Config{})
	ctx, stop := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer stop()
	var r Request
	r.SetDefaults()
	if _, err := h.service.Generate(ctx, r); fault.KindOf(err) != fault.Timeout {
		t.Errorf("%v", err)
	}
	if calls := len(h.triton.Calls()); calls > 0 {
		t.Errorf("%d calls to the model", calls)
	}
}
