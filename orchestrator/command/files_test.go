package command_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"retort/orchestrator/command"
)

// runStreams runs a command line with files as standard input and standard error, and returns its output and error.
func runStreams(t *testing.T, stdin, stderr *os.File, args ...string) (string, error) {
	t.Helper()
	var stdout strings.Builder
	err := runIn(t, &command.Process{Stdin: stdin, Stdout: &stdout, Stderr: stderr}, args...)
	return stdout.String(), err
}

func TestOutputIsNotInput(t *testing.T) {
	const text = "CCO ethanol\n"
	folder := t.TempDir()
	input := filepath.Join(folder, "a.smi")
	link := filepath.Join(folder, "b.smi")
	if err := os.WriteFile(input, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(input, link); err != nil {
		t.Fatal(err)
	}
	check := func(name string, err error) {
		after, readErr := os.ReadFile(input)
		if err == nil || !strings.Contains(err.Error(), "same file") || readErr != nil || string(after) != text {
			t.Errorf("%s: %v, now %q", name, err, after)
		}
	}
	for _, output := range []string{input, link} {
		for _, flag := range []string{"--force", "--resume"} {
			_, err := runStreams(t, os.Stdin, os.Stderr, "describe", input, "-o", output, "-f", "csv", flag)
			check(output+" "+flag, err)
		}
	}
	stdin, err := os.Open(input)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	_, err = runStreams(t, stdin, os.Stderr, "describe", "-", "-o", input, "--force")
	check("standard input", err)
}

func TestStandardOutputIsNotInput(t *testing.T) {
	input := filepath.Join(t.TempDir(), "a.smi")
	if err := os.WriteFile(input, []byte("CCO\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := os.OpenFile(input, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	err = runIn(t, &command.Process{Stdin: os.Stdin, Stdout: output, Stderr: os.Stderr}, "describe", input)
	after, readErr := os.ReadFile(input)
	if err == nil || !strings.Contains(err.Error(), "same file") || readErr != nil || string(after) != "CCO\n" {
		t.Errorf("%v, now %q", err, after)
	}
}

// TestProgressOfPipe shows a bar while a pipe is read by its name, as by a shell's <(...).
func TestProgressOfPipe(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if _, err := writer.WriteString("CCO\nCCN\n"); err != nil {
		t.Fatal(err)
	}
	writer.Close()
	out, err := runStreams(t, nil, terminal, "describe", "-i", fmt.Sprintf("/dev/fd/%d", reader.Fd()))
	if err != nil || strings.Count(out, "\n") != 2 {
		t.Errorf("%q, %v", out, err)
	}
}

func TestQuotesInTables(t *testing.T) {
	for text, want := range map[string]string{
		"smiles\tname\nCCO\t\"open\nCCN\tb\n\nCCC\tc\"\n": `2,CCO,"""open",|3,CCN,b,|5,CCC,"c""",`,
		"smiles\tname\r\n\"CCO\"\t\"a \"\"b\"\"\"\r\n":    `2,CCO,"a ""b""",`,
		"smiles\tname\nCCO\t\"a\" or \"b\"\n":             `2,CCO,"""a"" or ""b""",`,
		"\"smiles\",\"name\"\n\"CCO\",\"a,b\"\n":          `2,CCO,"a,b",`,
		"\"smiles\"\t\"name\"\n\"CCO\"\t\"a\"\n":          `2,CCO,a,`,
		"\"CCO\"\n":                                       `1,CCO,,`,
	} {
		got := run(t, text, "describe", "-f", "csv")
		_, records, _ := strings.Cut(strings.TrimSpace(got.out), "\n")
		lines := strings.Split(records, "\n")
		wants := strings.Split(want, "|")
		if got.code != 0 || len(lines) != len(wants) {
			t.Errorf("%q: %+v", text, got)
			continue
		}
		for i, line := range lines {
			if !strings.HasPrefix(line, wants[i]) {
				t.Errorf("%q: %s, want %s", text, line, wants[i])
			}
		}
	}
}

func TestResumeCountsRowsWithoutAnswer(t *testing.T) {
	const text = "CCO\nnot a molecule\nCCN\nCCC\nCCCC\n"
	for _, format := range []string{"jsonl", "csv", "sdf"} {
		file := filepath.Join(t.TempDir(), "out."+format)
		complete := run(t, text, "describe", "-f", format).out
		if err := os.WriteFile(file, []byte(complete), 0o600); err != nil {
			t.Fatal(err)
		}
		got := run(t, text, "describe", "-o", file, "--resume")
		if got.code != 3 || !strings.Contains(got.err, "1 of 5 rows could not be answered") {
			t.Errorf("%s: %+v", format, got)
		}
	}
}

func TestDecodeToNoMolecule(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"generated":["CCO","C1CC","CCN"]}`)
	}))
	defer service.Close()
	states := strings.Repeat(`{"hidden":[[1]],"mask":[true]}`+"\n", 3)
	for _, format := range []string{"jsonl", "csv", "sdf"} {
		got := run(t, states, "decode", "--url", service.URL, "-f", format)
		if got.code != 3 || !strings.Contains(got.out, "CCO") || !strings.Contains(got.out, "CCN") ||
			strings.Contains(got.out, "C1CC") || !strings.Contains(got.err, `line 2: it decodes to "C1CC"`) {
			t.Errorf("%s: %+v", format, got)
		}
	}
}

func TestSampleOfNoMolecule(t *testing.T) {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"generated":[["CCN"],[]]}`)
	}))
	defer service.Close()
	got := run(t, "CCO\nCCC\n", "sample", "--url", service.URL)
	if got.code != 3 || !strings.Contains(got.out, "CCN") || !strings.Contains(got.err, "line 2: no molecule") {
		t.Errorf("%+v", got)
	}
}
