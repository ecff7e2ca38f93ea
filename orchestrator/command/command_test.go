package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/alecthomas/kong"

	"retort/orchestrator/command"
)

// ran is what a command has written, and its exit code.
type ran struct {
	out, err string
	code     int
}

// run runs a command line, with text as its standard input.
func run(t *testing.T, text string, args ...string) ran {
	t.Helper()
	var commands command.Commands
	parser, err := kong.New(&commands)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return ran{err: err.Error(), code: command.ExitCode(err)}
	}
	var out, told bytes.Buffer
	err = parsed.Run(&command.Process{Context: t.Context(), Stdin: strings.NewReader(text), Stdout: &out, Stderr: &told})
	said := told.String()
	if err != nil {
		said += err.Error()
	}
	return ran{out.String(), said, command.ExitCode(err)}
}

// fake plays the latent API: it answers each molecule with a vector of its length, refuses some, and can be full or end.
type fake struct {
	*httptest.Server
	mu     sync.Mutex
	asked  map[string]int
	full   atomic.Int32 // requests that are told to come again
	ending atomic.Int32 // requests until the service is gone
}

func serve(t *testing.T) *fake {
	f := &fake{asked: map[string]int{}}
	f.ending.Store(math.MaxInt32)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /latent/embedding", f.embed)
	mux.HandleFunc("POST /latent/generate", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "data: {\"seed\":0,\"iteration\":1,\"evaluations\":9,\"best\":{\"smiles\":\"CC\",\"score\":0.5}}\n\n: pulse\n\n")
		if r.Header.Get("X-Cut") == "" {
			fmt.Fprint(w, "data: {\"generated\":[{\"smiles\":\"CC\",\"score\":0.5,\"similarity\":0.4}]}\n\n")
		}
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) embed(w http.ResponseWriter, r *http.Request) {
	if f.full.Add(-1) >= 0 {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"detail": "too many requests"}`)
		return
	}
	if f.ending.Add(-1) < 0 {
		panic(http.ErrAbortHandler)
	}
	var body struct{ Sequences []string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		panic(err)
	}
	answer := map[string][][]int{}
	for i, text := range body.Sequences {
		if strings.Contains(text, "[Xe]") {
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprintf(w, `{"detail": [{"loc": ["body", "sequences", %d], "msg": "unknown token [Xe]", "type": "value_error"}]}`, i)
			return
		}
		answer["embeddings"] = append(answer["embeddings"], []int{len(text)})
	}
	f.mu.Lock()
	for _, text := range body.Sequences {
		f.asked[text]++
	}
	f.mu.Unlock()
	_ = json.NewEncoder(w).Encode(answer)
}

// chains are so many molecules that all differ.
func chains(count int) string {
	var b strings.Builder
	for i := range count {
		atoms := strings.NewReplacer("0", "C", "1", "N", "2", "O").Replace(strconv.FormatInt(int64(i), 3))
		fmt.Fprintf(&b, "F%s molecule %d\n", atoms, i+1)
	}
	return b.String()
}

func TestRowsOfEveryForm(t *testing.T) {
	for form, text := range map[string]string{
		"smi":   "smiles name\nCCO ethanol\n\nc1ccccc1\tbenzene ring\n",
		"csv":   "id,SMILES,x\nethanol,CCO,1\n\"benzene ring\",c1ccccc1,\"a,b\"\n",
		"tsv":   "id\tSMILES\nethanol\tCCO\nbenzene ring\tc1ccccc1\n",
		"jsonl": "{\"smiles\": \"CCO\", \"name\": \"ethanol\"}\n{\"id\": \"benzene ring\", \"smiles\": \"c1ccccc1\"}\n",
		"sdf":   run(t, "CCO ethanol\nc1ccccc1 benzene ring\n", "describe", "-f", "sdf").out,
	} {
		for _, how := range []string{"auto", form} {
			got := run(t, text, "describe", "--format", "csv", "--input-format", how)
			lines := strings.Split(strings.TrimSpace(got.out), "\n")
			if got.code != 0 || len(lines) != 3 || !strings.Contains(lines[1], ",ethanol,CCO,C2H6O,46.069,") || !strings.Contains(lines[2], ",benzene ring,c1ccccc1,C6H6,") {
				t.Errorf("%s as %s: %+v", form, how, got)
			}
		}
		file := filepath.Join(t.TempDir(), "molecules."+form)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run(t, "", "describe", file); got.code != 0 || strings.Count(got.out, "\n") != 2 {
			t.Errorf("a file of %s: %+v", form, got)
		}
	}
}

func TestColumnsThatAreKept(t *testing.T) {
	table := "id,SMILES,pIC50,formula\nethanol,CCO,5.5,\"a,b\"\nbenzene,c1ccccc1\n"
	lines := "{\"smiles\": \"CCO\", \"pIC50\": 5.5, \"note\": \"x\"}\n{\"smiles\": \"CCN\"}\n"
	for name, c := range map[string]struct {
		text string
		args []string
		want []string
	}{
		"all of a table":    {table, []string{"--keep", "all", "-f", "csv"}, []string{"line,input,name,pIC50,input_formula,smiles,formula", "2,CCO,ethanol,5.5,\"a,b\",CCO,C2H6O", "3,c1ccccc1,benzene,,,c1ccccc1,C6H6"}},
		"one of a table":    {table, []string{"--keep", "pic50", "-f", "csv"}, []string{"line,input,name,pIC50,smiles,formula", "2,CCO,ethanol,5.5,CCO,C2H6O"}},
		"members of JSONL":  {lines, []string{"--keep", "pIC50,note", "-f", "jsonl"}, []string{`"name":"","pIC50":5.5,"note":"x","smiles":"CCO"`, `"name":"","pIC50":null,"note":null,"smiles":"CCN"`}},
		"a field of an SDF": {run(t, table, "describe", "--keep", "pIC50", "-f", "sdf").out, []string{"--keep", "pIC50", "-f", "csv"}, []string{"ethanol,5.5,CCO", "benzene,,c1ccccc1"}},
	} {
		got := run(t, c.text, append([]string{"describe"}, c.args...)...)
		for _, want := range c.want {
			if got.code != 0 || !strings.Contains(got.out, want) {
				t.Errorf("%s: no %q in %+v", name, want, got)
			}
		}
	}
	for text, want := range map[string]string{
		"CCO\n": "--keep: the input has no columns",
		lines:   "--keep all needs a table with a header",
	} {
		if got := run(t, text, "describe", "--keep", "all"); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%q: no %q in %+v", text, want, got)
		}
	}
	if got := run(t, table, "describe", "--keep", "x"); got.code != 1 || !strings.Contains(got.err, "none of its columns (id, SMILES, pIC50, formula) is called x") {
		t.Errorf("%+v", got)
	}
}

func TestBadRowsDoNotStopTheOthers(t *testing.T) {
	f := serve(t)
	got := run(t, "CCO\nnot a molecule\n[Xe]\nCCN\nC[Xe]\nc1ccccc1\n", "embed", "--url", f.URL)
	if got.code != 3 || strings.Count(got.out, "\n") != 3 || !strings.Contains(got.out, `{"line":6,"input":"c1ccccc1","name":"","embedding":[8]}`) {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{"line 2: syntax error", "line 3: sequences.0: unknown token [Xe] (422)", "line 5: sequences.0", "3 of 6 rows could not be answered"} {
		if !strings.Contains(got.err, want) {
			t.Errorf("%q is not in\n%s", want, got.err)
		}
	}
	if got := run(t, strings.Repeat("[Xe]\n", 1000), "embed", "--url", f.URL); got.code != 1 || !strings.Contains(got.err, "refuses every row") {
		t.Errorf("%+v", got)
	}
}

func TestAServiceThatIsFullIsWaitedFor(t *testing.T) {
	f := serve(t)
	f.full.Store(5)
	if got := run(t, chains(500), "embed", "--url", f.URL); got.code != 0 || strings.Count(got.out, "\n") != 500 || !strings.Contains(got.err, "waiting") {
		t.Errorf("%d rows, %d %s", strings.Count(got.out, "\n"), got.code, got.err)
	}
}

func TestARunGoesOnWhereItWas(t *testing.T) {
	const rows = 1000
	for _, form := range []string{"jsonl", "csv"} {
		whole := run(t, chains(rows), "embed", "--url", serve(t).URL, "-f", form).out
		for _, cut := range []int{0, 5, 30, len(whole) / 3, len(whole)/2 + 7, len(whole) - 1, len(whole)} {
			f := serve(t)
			file := filepath.Join(t.TempDir(), "out."+form)
			if err := os.WriteFile(file, []byte(whole[:cut]), 0o600); err != nil {
				t.Fatal(err)
			}
			got := run(t, chains(rows), "embed", "--url", f.URL, "-o", file, "--resume")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got.code != 0 || string(text) != whole {
				t.Errorf("%s cut at %d: %+v, %d bytes of %d", form, cut, got, len(text), len(whole))
			}
			if limit := rows - strings.Count(whole[:cut], "\n") + 3; len(f.asked) > limit {
				t.Errorf("%s cut at %d: %d rows were asked for, at most %d are missing", form, cut, len(f.asked), limit)
			}
		}
	}
}

func TestSDFGoesOnWhereItWas(t *testing.T) {
	text := chains(50)
	whole := run(t, text, "describe", "-f", "sdf").out
	for cut := 0; cut <= len(whole); cut += 997 {
		file := filepath.Join(t.TempDir(), "out.sdf")
		if err := os.WriteFile(file, []byte(whole[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, text, "describe", "-o", file, "--resume")
		after, err := os.ReadFile(file)
		if err != nil || got.code != 0 || string(after) != whole {
			t.Fatalf("cut at %d: %+v %v", cut, got, err)
		}
	}
}

func TestAServiceThatGoesAwayKeepsWhatIsDone(t *testing.T) {
	f := serve(t)
	file := filepath.Join(t.TempDir(), "out.csv")
	f.ending.Store(10)
	text := chains(2000)
	got := run(t, text, "embed", "--url", f.URL, "-o", file, "--attempts", "2")
	if got.code != 4 || !strings.Contains(got.err, "--resume goes on") {
		t.Fatalf("%+v", got)
	}
	if again := run(t, text, "embed", "--url", f.URL, "-o", file); again.code != 1 || !strings.Contains(again.err, "is there already") {
		t.Errorf("%+v", again)
	}
	if again := run(t, text, "embed", "--url", serve(t).URL, "-o", file, "--resume"); again.code != 0 {
		t.Errorf("%+v", again)
	}
	written, err := os.ReadFile(file)
	if err != nil || strings.Count(string(written), "\n") != 2001 {
		t.Errorf("%d lines, %v", strings.Count(string(written), "\n"), err)
	}
	if other := run(t, strings.Replace(text, "F", "Cl", -1), "embed", "--url", serve(t).URL, "-o", file, "--resume"); other.code != 1 || !strings.Contains(other.err, "another input") {
		t.Errorf("%+v", other)
	}
}

func TestNothingOfOthersIsWrittenOver(t *testing.T) {
	for name, text := range map[string]string{"a.csv": "x,y\n1,2\n", "a.jsonl": "{\"a\": 1}\n", "b.jsonl": "notes", "a.sdf": "mine\nnot\nyours\n"} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, "", "describe", "CCO", "-o", file, "--resume")
		if after, err := os.ReadFile(file); got.code != 1 || err != nil || string(after) != text {
			t.Errorf("%s: %+v, now %q", name, got, after)
		}
	}
}

func TestASearchIsFollowed(t *testing.T) {
	f := serve(t)
	for _, goal := range []string{"QED", "QED, SA", `{"name": "SA"}`} {
		got := run(t, "", "optimize", "CCO", "--url", f.URL, "--objective", goal)
		if got.code != 0 || got.out != `{"line":1,"input":"CCO","name":"","smiles":"CC","number":1,"score":0.5,"similarity":0.4}`+"\n" {
			t.Errorf("%s: %+v", goal, got)
		}
	}
	if got := run(t, "", "optimize", "CCO", "--url", f.URL, "--objective", "{half"); got.code != 1 || !strings.Contains(got.err, "not JSON") {
		t.Errorf("%+v", got)
	}
}

func TestATableIsAligned(t *testing.T) {
	f := serve(t)
	got := run(t, chains(70)+"x\n", "embed", "--url", f.URL, "--format", "table")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	if got.code != 3 || len(lines) != 71 {
		t.Fatalf("%+v", got)
	}
	column := strings.Index(lines[0], "EMBEDDING")
	for _, line := range lines[1:] {
		if line[column] != '[' || line[column-1] != ' ' {
			t.Errorf("%q is not aligned with %q", line, lines[0])
		}
	}
}

func TestExitCodes(t *testing.T) {
	for want, args := range map[int][]string{
		2: {"describe", "--no-such-flag"},
		1: {"describe", "--input", "no/such/file"},
		3: {"describe", "x"},
		0: {"describe", "CCO"},
	} {
		if got := run(t, "", args...); got.code != want {
			t.Errorf("%v: %+v, want %d", args, got, want)
		}
	}
	for want, args := range map[int][]string{
		1: {"describe", "missing.smi"},
	} {
		if got := run(t, "", args...); got.code != want {
			t.Errorf("%v: %+v, want %d", args, got, want)
		}
	}
	if got := command.ExitCode(fmt.Errorf("interrupted: %w", context.Canceled)); got != 130 {
		t.Errorf("an interrupt: %d", got)
	}
}

func TestKeyFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	authorization := make(chan string, 1)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization <- r.Header.Get("Authorization")
		fmt.Fprint(w, `{"embeddings":[[1]]}`)
	}))
	defer service.Close()
	got := run(t, "", "embed", "CCO", "--url", service.URL, "--api-key-file", file)
	if header := <-authorization; got.code != 0 || header != "Bearer mine" {
		t.Errorf("Authorization: %q, %+v", header, got)
	}
}
