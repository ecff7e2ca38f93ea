package masked

import (
	"bufio"
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
	if err := json.Unmarshal([]byte(text), &answer); err != nil || status != 200 || answer.Status != "success" || answer.Molecules == nil {
		h.t.Fatalf("%s: %d %s (%v)", body, status, text, err)
	}
	return answer.Molecules
}

// TestFragmentsStay wants the given fragments in every molecule, valid SMILES, best first, for every kind of template.
func TestFragmentsStay(t *testing.T) {
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
			body, _ := json.Marshal(map[string]any{"smiles": template, "num_molecules": 20, "scoring": scoring, "seed": 3, "scores": true})
			molecules := h.generate(string(body))
			if len(molecules) < 10 {
				t.Errorf("%s: only %d molecules of 20", template, len(molecules))
			}
			parsed, err := ParseTemplate(template)
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range molecules {
				molecule, err := chem.Parse(m.SMILES)
				if err != nil || molecule.SMILES() != m.SMILES || strings.Contains(m.SMILES, ".") {
					t.Fatalf("%s: %s is not one canonical molecule: %v", template, m.SMILES, err)
				}
				if !parsed.in(m.SMILES) {
					t.Errorf("%s is not in %s", template, m.SMILES)
				}
				want := map[string]float64{"QED": rounded(molecule.QED()), "LogP": rounded(molecule.LogP())}
				if m.Score != want[scoring] || m.Scores.QED != want["QED"] || m.Scores.LogP != want["LogP"] || m.Scores.SA != rounded(molecule.SA()) {
					t.Errorf("%s: scores %v %+v, want %v", m.SMILES, m.Score, m.Scores, want)
				}
				if i > 0 && m.Score > molecules[i-1].Score {
					t.Errorf("%s: score %v after %v", template, m.Score, molecules[i-1].Score)
				}
			}
		}
	}
	molecules := h.generate(`{"smiles":"[C@H]1O[C@@H](CO)[C@H](O)[C@@H]1O.[*{9-9}]","num_molecules":5,"seed":1}`)
	if !strings.Contains(molecules[0].SMILES, "@") {
		t.Errorf("the stereo of the given fragment is lost: %s", molecules[0].SMILES)
	}
}

// Given atoms that the model has no token for are shown to it as carbon, and stay what they are.
func TestGivenAtomsThatTheModelDoesNotKnow(t *testing.T) {
	h := start(t, Config{})
	for template, kept := range map[string]string{
		"C1CC1[Pt].[*{5-5}]": "[Pt]", "[*]C[Sn](C)(C)C.[*{4-4}]": "[Sn]", "[*]c1cc[se]c1.[*{4-4}]": "[se]", "[*][13CH2]O.[*{3-3}]": "[13CH2]",
	} {
		molecules := h.generate(`{"smiles":"` + template + `","num_molecules":4,"seed":2}`)
		for _, m := range molecules {
			if !strings.Contains(m.SMILES, kept) {
				t.Errorf("%s: %s", template, m.SMILES)
			}
		}
		if len(molecules) == 0 {
			t.Errorf("%s: no molecules", template)
		}
	}
}

// TestMaskLengths wants every length between the two, drawn per molecule, and nothing else changed on the way to the
// model.
func TestMaskLengths(t *testing.T) {
	h := start(t, Config{})
	v := vocabulary(t)
	masks := func(body string) (counts map[int]int, rows int) {
		before := len(h.triton.Calls())
		h.generate(body)
		counts = map[int]int{}
		for _, call := range h.triton.Calls()[before:] {
			input, _ := call.Input("input_ids")
			ids, err := input.Int64s()
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
	for body, span := range map[string][3]int{
		`{"smiles":"[*{15-25}]","num_molecules":300}`:                    {15, 25, otherSpares},
		`{"smiles":"[*{11-19}]","num_molecules":100}`:                    {11, 19, shortSpares},
		`{"smiles":"[*{50-60}]","num_molecules":100}`:                    {50, 60, longSpares},
		`{"smiles":"c1ccccc1[*].[*{4-6}].[*{1-3}]","num_molecules":200}`: {5, 9, tinySpares},
		`{"smiles":"c1ccccc1[*{3-5}]C(=O)N","num_molecules":100}`:        {3, 5, tinySpares},
		`{"num_molecules":300,"min_add_len":"14"}`:                       {14, 24, 1},
		// The longest molecule has 24 tokens. The given fragment has 9, and a published length of 10: its dot counts twice.
		`{"smiles":"[*]c1ccccc1","num_molecules":100,"min_add_len":9}`:    {9, 14, 1},
		`{"smiles":"[*]c1ccccc1","num_molecules":20,"min_add_len":"128"}`: {117, 117, 1},
	} {
		counts, rows := masks(body)
		least, most, spares := span[0], span[1], span[2]
		for n := range counts {
			if n < least || n > most {
				t.Errorf("%s: %d masks", body, n)
			}
		}
		for _, n := range []int{least, most} {
			if counts[n] == 0 {
				t.Errorf("%s: never %d masks: %v", body, n, counts)
			}
		}
		var asked struct{ Num_molecules int }
		if err := json.Unmarshal([]byte(body), &asked); err != nil || rows != asked.Num_molecules*spares {
			t.Errorf("%s: %d rows (%v)", body, rows, err)
		}
	}
}

func TestSettingsReachTheModel(t *testing.T) {
	h := start(t, Config{})
	h.generate(`{"smiles":"[*{21-21}]","num_molecules":"3","temperature":"1.5","noise":"0.25","step_size":"4","gamma":"0.5","unique":"True","model":"genmol","extra":{"a":1}}`)
	call := h.triton.Calls()[0]
	for name, want := range map[string]float32{"temperature": 1.5, "noise": 0.25, "gamma": 0.5} {
		input, _ := call.Input(name)
		if values, err := input.Float32s(); err != nil || len(values) != 3*otherSpares || values[0] != want || values[len(values)-1] != want {
			t.Errorf("%s is %v (%v), want %v", name, values, err, want)
		}
	}
	size, _ := call.Input("step_size")
	if values, err := size.Int64s(); err != nil || values[1] != 4 {
		t.Errorf("step_size is %v (%v)", values, err)
	}
	seed, _ := call.Input("seed")
	if values, err := seed.Int64s(); err != nil || values[0] == values[1] || values[0] < 0 {
		t.Errorf("seeds are %v (%v)", values, err)
	}
}

// TestDefaultModel wants the configured model, or none: never another one in its place.
func TestDefaultModel(t *testing.T) {
	h := start(t, Config{Model: "retort/toy-v1"})
	if molecules := h.generate(`{"num_molecules":1,"model":"genmol","seed":1}`); len(molecules) != 1 {
		t.Errorf("%v", molecules)
	}
	absent := New(Config{Model: "retort/other-v2"}, h.service.models, h.service.oracles)
	var r Request
	r.SetDefaults()
	for what, err := range map[string]error{
		"readiness": absent.Ready(),
		"a request": func() error { _, err := absent.Generate(t.Context(), r); return err }(),
	} {
		f := fault.As(err)
		if f == nil || f.Kind != fault.Unavailable || !strings.Contains(f.Message, "retort/other-v2 is not loaded") {
			t.Errorf("%s with an absent model: %v", what, err)
		}
	}
	r.Model = "retort/toy-v1"
	if _, err := absent.Generate(t.Context(), r); err != nil {
		t.Errorf("a model that the request names: %v", err)
	}
}

func TestUnique(t *testing.T) {
	h := start(t, Config{})
	count := func(body string) (all, different int) {
		seen := map[string]bool{}
		molecules := h.generate(body)
		for _, m := range molecules {
			seen[m.SMILES] = true
		}
		return len(molecules), len(seen)
	}
	const template = `{"smiles":"[*]c1ccccc1.[*{6-6}]","num_molecules":200,"seed":5`
	if all, different := count(template + `}`); all != 200 || different == all {
		t.Errorf("without unique: %d molecules, %d different; the toy makes few different ones", all, different)
	}
	once, different := count(template + `,"unique":true}`)
	if once != different || once == 200 {
		t.Errorf("with unique: %d molecules, %d different", once, different)
	}
	if again, different := count(template + `,"unique":"true","attempts":10}`); again != different || again <= once {
		t.Errorf("with ten attempts: %d molecules, %d different, one attempt gave %d", again, different, once)
	}
}

// TestSeeds wants the same answer to the same seed: alone, beside others, with other batches, from another process,
// streamed or whole.
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
					t.Errorf("beside others the seed gives other molecules: %v, want %v", got, want)
				}
			})
		}
		all.Wait()
		events := one.events(body(7, more+`,"stream":true`))
		var last Response
		if err := json.Unmarshal([]byte(events[len(events)-1]), &last); err != nil || !slices.Equal(last.Molecules, want) {
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
		h.t.Fatalf("%s is no stream", kind)
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
	var before Progress
	for i, text := range events[:len(events)-1] {
		var now Progress
		if err := json.Unmarshal([]byte(text), &now); err != nil || now.Status != "running" || now.Requested != 40 || now.Rounds != 1 {
			t.Fatalf("event %d: %s (%v)", i, text, err)
		}
		if now.Round < before.Round || now.Round == before.Round && now.Generated < before.Generated || now.Valid < before.Valid {
			t.Errorf("event %d goes back: %s after %+v", i, text, before)
		}
		before = now
	}
	if before.Round != 1 || before.Generated != 40 || before.Best == nil {
		t.Errorf("the last progress is %+v", before)
	}
	h.triton.Fail(func(*triton.Request) error { return fmt.Errorf("broken") })
	events = h.events(`{"smiles":"[*{20-20}]","num_molecules":4,"stream":true}`)
	if last := events[len(events)-1]; last != `{"status":"failed","error":"Internal server error"}` {
		t.Errorf("a stream that fails ends with %s", last)
	}
}

// TestRemasking wants later rounds to raise the scores, and given fragments to stay all the same.
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
	parsed, err := ParseTemplate("[*]c1ccncc1")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range h.generate(`{"smiles":"[*]c1ccncc1.[*{8-16}]","num_molecules":20,"seed":2,"rounds":"3"}`) {
		if !parsed.in(m.SMILES) {
			t.Errorf("the given fragment is not in %s", m.SMILES)
		}
	}
}

// When a client leaves, the calls to the model in flight and all further work are cancelled.
func TestALeavingClientEndsTheWork(t *testing.T) {
	const answered = 3 // calls before all hang
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
	ctx, leave := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/generate", strings.NewReader(`{"num_molecules":1000,"rounds":50}`))
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-started
		leave()
	}()
	if answer, err := http.DefaultClient.Do(request); err == nil {
		answer.Body.Close()
		t.Errorf("51,000 rows were answered with %d", answer.StatusCode)
	}
	<-ended
	h.drain()
	const inFlight = 2 // the default of batching.Options
	if calls := len(h.triton.Calls()); calls > answered+inFlight {
		t.Errorf("%d calls, the client left during call %d", calls, answered+1)
	}
}

func TestADeadlineThatHasPassedIsATimeout(t *testing.T) {
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
