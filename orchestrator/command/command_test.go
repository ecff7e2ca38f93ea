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

// result is what a command has written, and its exit code. The error of the command follows its standard error.
type result struct {
	out, err string
	code     int
}

// run runs a command line with a standard input.
func run(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	err := runIn(t, &command.Process{Stdin: strings.NewReader(stdin), Stdout: &stdout, Stderr: &stderr}, args...)
	if err != nil {
		stderr.WriteString(err.Error())
	}
	return result{stdout.String(), stderr.String(), command.ExitCode(err)}
}

// runIn runs a command line with the streams of process and the context of the test.
func runIn(t *testing.T, process *command.Process, args ...string) error {
	t.Helper()
	var commands command.Commands
	parser, err := kong.New(&commands)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return err
	}
	process.Context = t.Context()
	return parsed.Run(process)
}

// fakeLatent is a latent API whose embedding of a molecule is the length of its SMILES. It refuses xenon.
type fakeLatent struct {
	*httptest.Server
	mu        sync.Mutex
	requested map[string]int // by molecule
	full      atomic.Int32   // requests to answer with 503
	remaining atomic.Int32   // requests until the service goes away
}

func startLatent(t *testing.T) *fakeLatent {
	f := &fakeLatent{requested: map[string]int{}}
	f.remaining.Store(math.MaxInt32)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /latent/embedding", f.embed)
	mux.HandleFunc("POST /latent/generate", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `data: {"seed":0,"iteration":1,"evaluations":9,"best":{"smiles":"CC","score":0.5}}`+"\n\n")
		fmt.Fprint(w, ": pulse\n\n")
		fmt.Fprint(w, `data: {"generated":[{"smiles":"CC","score":0.5,"similarity":0.4}]}`+"\n\n")
	})
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

func (f *fakeLatent) embed(w http.ResponseWriter, r *http.Request) {
	if f.full.Add(-1) >= 0 {
		w.Header().Set("Retry-After", "0")
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprint(w, `{"detail": "too many requests"}`)
		return
	}
	if f.remaining.Add(-1) < 0 {
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
			const problem = `{"loc": ["body", "sequences", %d], "msg": "unknown token [Xe]", "type": "value_error"}`
			fmt.Fprintf(w, `{"detail": [`+problem+`]}`, i)
			return
		}
		answer["embeddings"] = append(answer["embeddings"], []int{len(text)})
	}
	f.mu.Lock()
	for _, text := range body.Sequences {
		f.requested[text]++
	}
	f.mu.Unlock()
	_ = json.NewEncoder(w).Encode(answer)
}

// chains returns that many different molecules, one a line.
func chains(count int) string {
	var b strings.Builder
	for i := range count {
		atoms := strings.NewReplacer("0", "C", "1", "N", "2", "O").Replace(strconv.FormatInt(int64(i), 3))
		fmt.Fprintf(&b, "F%s molecule %d\n", atoms, i+1)
	}
	return b.String()
}

func TestInputFormats(t *testing.T) {
	for format, text := range map[string]string{
		"smi":   "smiles name\nCCO ethanol\n\nc1ccccc1\tbenzene ring\n",
		"csv":   "id,SMILES,x\nethanol,CCO,1\n\"benzene ring\",c1ccccc1,\"a,b\"\n",
		"tsv":   "id\tSMILES\nethanol\tCCO\nbenzene ring\tc1ccccc1\n",
		"jsonl": "{\"smiles\": \"CCO\", \"name\": \"ethanol\"}\n{\"id\": \"benzene ring\", \"smiles\": \"c1ccccc1\"}\n",
		"sdf":   run(t, "CCO ethanol\nc1ccccc1 benzene ring\n", "describe", "-f", "sdf").out,
	} {
		for _, given := range []string{"auto", format} {
			got := run(t, text, "describe", "--format", "csv", "--input-format", given)
			lines := strings.Split(strings.TrimSpace(got.out), "\n")
			if got.code != 0 || len(lines) != 3 || !strings.Contains(lines[1], ",ethanol,CCO,C2H6O,46.069,") ||
				!strings.Contains(lines[2], ",benzene ring,c1ccccc1,C6H6,") {
				t.Errorf("%s with --input-format %s: %+v", format, given, got)
			}
		}
		file := filepath.Join(t.TempDir(), "molecules."+format)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := run(t, "", "describe", file); got.code != 0 || strings.Count(got.out, "\n") != 2 {
			t.Errorf("a %s file: %+v", format, got)
		}
	}
}

func TestKeep(t *testing.T) {
	table := "id,SMILES,pIC50,formula\nethanol,CCO,5.5,\"a,b\"\nbenzene,c1ccccc1\n"
	lines := "{\"smiles\": \"CCO\", \"pIC50\": 5.5, \"note\": \"x\"}\n{\"smiles\": \"CCN\"}\n"
	for name, c := range map[string]struct {
		text string
		args []string
		want []string
	}{
		"all columns": {
			table,
			[]string{"--keep", "all", "-f", "csv"},
			[]string{
				"line,input,name,pIC50,input_formula,smiles,formula",
				"2,CCO,ethanol,5.5,\"a,b\",CCO,C2H6O",
				"3,c1ccccc1,benzene,,,c1ccccc1,C6H6",
			},
		},
		"one column": {
			table,
			[]string{"--keep", "pic50", "-f", "csv"},
			[]string{"line,input,name,pIC50,smiles,formula", "2,CCO,ethanol,5.5,CCO,C2H6O"},
		},
		"members of JSONL": {
			lines,
			[]string{"--keep", "pIC50,note", "-f", "jsonl"},
			[]string{
				`"name":"","pIC50":5.5,"note":"x","smiles":"CCO"`,
				`"name":"","pIC50":null,"note":null,"smiles":"CCN"`,
			},
		},
		"data field of an SDF": {
			run(t, table, "describe", "--keep", "pIC50", "-f", "sdf").out,
			[]string{"--keep", "pIC50", "-f", "csv"},
			[]string{"ethanol,5.5,CCO", "benzene,,c1ccccc1"},
		},
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
	const want = "none of its columns (id, SMILES, pIC50, formula) is called x"
	if got := run(t, table, "describe", "--keep", "x"); got.code != 1 || !strings.Contains(got.err, want) {
		t.Errorf("no %q in %+v", want, got)
	}
}

func TestUnanswerableRows(t *testing.T) {
	f := startLatent(t)
	got := run(t, "CCO\nnot a molecule\n[Xe]\nCCN\nC[Xe]\nc1ccccc1\n", "embed", "--url", f.URL)
	const record = `{"line":6,"input":"c1ccccc1","name":"","embedding":[8]}`
	if got.code != 3 || strings.Count(got.out, "\n") != 3 || !strings.Contains(got.out, record) {
		t.Errorf("%+v", got)
	}
	for _, want := range []string{
		"line 2: syntax error",
		"line 3: sequences.0: unknown token [Xe] (422)",
		"line 5: sequences.0",
		"3 of 6 rows could not be answered",
	} {
		if !strings.Contains(got.err, want) {
			t.Errorf("no %q in:\n%s", want, got.err)
		}
	}
	got = run(t, strings.Repeat("[Xe]\n", 1000), "embed", "--url", f.URL)
	if got.code != 1 || !strings.Contains(got.err, "refuses every row") {
		t.Errorf("1,000 refused rows: %+v", got)
	}
}

func TestRetryWhileServiceIsFull(t *testing.T) {
	f := startLatent(t)
	f.full.Store(5)
	got := run(t, chains(500), "embed", "--url", f.URL)
	if rows := strings.Count(got.out, "\n"); got.code != 0 || rows != 500 || !strings.Contains(got.err, "waiting") {
		t.Errorf("%d rows, exit code %d, %s", rows, got.code, got.err)
	}
}

func TestResume(t *testing.T) {
	const rows = 1000
	for _, format := range []string{"jsonl", "csv"} {
		complete := run(t, chains(rows), "embed", "--url", startLatent(t).URL, "-f", format).out
		for _, cut := range []int{0, 5, 30, len(complete) / 3, len(complete)/2 + 7, len(complete) - 1, len(complete)} {
			f := startLatent(t)
			file := filepath.Join(t.TempDir(), "out."+format)
			if err := os.WriteFile(file, []byte(complete[:cut]), 0o600); err != nil {
				t.Fatal(err)
			}
			got := run(t, chains(rows), "embed", "--url", f.URL, "-o", file, "--resume")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got.code != 0 || string(text) != complete {
				t.Errorf("%s cut at %d: %+v, %d bytes of %d", format, cut, got, len(text), len(complete))
			}
			if limit := rows - strings.Count(complete[:cut], "\n") + 3; len(f.requested) > limit {
				t.Errorf("%s cut at %d: %d rows requested, want at most %d", format, cut, len(f.requested), limit)
			}
		}
	}
}

func TestResumeSDF(t *testing.T) {
	text := chains(50)
	complete := run(t, text, "describe", "-f", "sdf").out
	for cut := 0; cut <= len(complete); cut += 997 {
		file := filepath.Join(t.TempDir(), "out.sdf")
		if err := os.WriteFile(file, []byte(complete[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, text, "describe", "-o", file, "--resume")
		after, err := os.ReadFile(file)
		if err != nil || got.code != 0 || string(after) != complete {
			t.Fatalf("cut at %d: %+v %v", cut, got, err)
		}
	}
}

func TestServiceGoesAway(t *testing.T) {
	f := startLatent(t)
	file := filepath.Join(t.TempDir(), "out.csv")
	f.remaining.Store(10)
	text := chains(2000)
	got := run(t, text, "embed", "--url", f.URL, "-o", file, "--attempts", "2")
	if got.code != 4 || !strings.Contains(got.err, "--resume continues") {
		t.Fatalf("%+v", got)
	}
	got = run(t, text, "embed", "--url", f.URL, "-o", file)
	if got.code != 1 || !strings.Contains(got.err, "already exists") {
		t.Errorf("without --resume: %+v", got)
	}
	if got := run(t, text, "embed", "--url", startLatent(t).URL, "-o", file, "--resume"); got.code != 0 {
		t.Errorf("with --resume: %+v", got)
	}
	written, err := os.ReadFile(file)
	if err != nil || strings.Count(string(written), "\n") != 2001 {
		t.Errorf("%d lines, %v", strings.Count(string(written), "\n"), err)
	}
	text = strings.ReplaceAll(text, "F", "Cl")
	got = run(t, text, "embed", "--url", startLatent(t).URL, "-o", file, "--resume")
	if got.code != 1 || !strings.Contains(got.err, "another input") {
		t.Errorf("with another input: %+v", got)
	}
}

func TestResumeRefusesForeignFiles(t *testing.T) {
	for name, text := range map[string]string{
		"a.csv":   "x,y\n1,2\n",
		"a.jsonl": "{\"a\": 1}\n",
		"b.jsonl": "notes",
		"a.sdf":   "mine\nnot\nyours\n",
	} {
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

func TestOptimize(t *testing.T) {
	f := startLatent(t)
	for _, objective := range []string{"QED", "QED, SA", `{"name": "SA"}`} {
		got := run(t, "", "optimize", "CCO", "--url", f.URL, "--objective", objective)
		const want = `{"line":1,"input":"CCO","name":"","smiles":"CC","number":1,"score":0.5,"similarity":0.4}` + "\n"
		if got.code != 0 || got.out != want {
			t.Errorf("%s: %+v", objective, got)
		}
	}
	got := run(t, "", "optimize", "CCO", "--url", f.URL, "--objective", "{half")
	if got.code != 1 || !strings.Contains(got.err, "not JSON") {
		t.Errorf("an objective that is not JSON: %+v", got)
	}
}

func TestTableAlignment(t *testing.T) {
	f := startLatent(t)
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
			t.Errorf("%v: %+v, want exit code %d", args, got, want)
		}
	}
	if got := run(t, "", "describe", "missing.smi"); got.code != 1 {
		t.Errorf("a missing file as an argument: %+v, want exit code 1", got)
	}
	if got := command.ExitCode(fmt.Errorf("interrupted: %w", context.Canceled)); got != 130 {
		t.Errorf("exit code %d after an interrupt", got)
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
