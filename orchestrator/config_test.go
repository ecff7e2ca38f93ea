package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/settings"
)

// check runs check-config and returns what it prints, or the error.
func check(t *testing.T, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), append([]string{"check-config"}, args...), &out); err != nil {
		return "error: " + err.Error()
	}
	return out.String()
}

func TestPrecedenceOfSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "retort.yaml")
	text := "triton-url: [a:1, b:2]\nembedding:\n  port: 9001\n  queue: 7\n" +
		"ranking-port: 9002\nlog_level: debug\nhost: 127.0.0.9\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RETORT_CONFIG", file)
	t.Setenv("RETORT_EMBEDDING_PORT", "9003")
	t.Setenv("NIM_LOG_LEVEL", "warn")
	got := check(t, "--embedding-queue=8")
	for _, want := range []string{
		"embedding-port: 9003\n", "embedding-queue: 8\n", "ranking-port: 9002\n", "log-level: warn\n",
		"host: 127.0.0.9\n",
		"triton-url:\n- a:1\n- b:2\n", "embedding-body-limit: 16777216\n", "port: 8000\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// The environment variables of the published services are aliases.
func TestPublishedVariables(t *testing.T) {
	t.Setenv("NIM_HTTP_API_PORT", "9100")
	t.Setenv("NIM_SERVED_MODEL_NAME", "mine,other=retort/minilm-embedqa-v2")
	t.Setenv("NIM_JSONL_LOGGING", "1")
	for _, level := range strings.Fields("DEFAULT TRACE DEBUG INFO WARNING ERROR CRITICAL") {
		t.Setenv("NIM_LOG_LEVEL", level)
		got := check(t)
		for _, want := range []string{
			"port: 9100\n", "jsonl-logging: true\n", "log-level: " + level + "\n",
			"served-model-name:\n- mine\n- other=retort/minilm-embedqa-v2\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in:\n%s", want, got)
			}
		}
	}
}

func TestModelsAnswerToServedNames(t *testing.T) {
	p := start(t, "--served-model-name=mine,other=sentence-transformers/all-MiniLM-L6-v2,gone=nobody/nothing")
	for body, want := range map[string]int{
		`{"model":"mine","input":"a","input_type":"query"}`: 200,
		`{"model":"other","input":"a"}`:                     200,
		`{"model":"gone","input":"a"}`:                      404,
		`{"model":"unnamed","input":"a"}`:                   404,
	} {
		if status, text := p.post("embedding", "/v1/embeddings", body); status != want {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
}

func TestInvalidSettingsAreNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "retort.yaml")
	for text, want := range map[string]string{
		"embeding:\n  port: 1\n":     "no such setting: embeding-port",
		"embedding:\n  port: many\n": "embedding-port",
		"embedding: {port: 8004}\n":  "ranking-port: 8004 is also the port of embedding",
		"embedding: {port: 8000}\n":  "embedding-port: 8000 is also the port of main",
		"tls-cert: a.pem\n":          "tls-key: it is missing, and tls-cert requires it",
		"tls-key: a.pem\n":           "tls-cert: it is missing, and tls-key requires it",
		"port: 70000\n":              "port: 70000 is not a port",
		"a: [\n":                     "a",
		"log-format: xml\n":          "log-format",
		"log-level: loud\n":          `log-level: "loud" is not a log level`,
		"log-level: '5'\n":           `log-level: "5" is not a log level`,
		"keys-file: /nowhere/keys\n": "keys-file: ",
		"served-model-name: [=a]\n":  "has no name",
		"tls-cert: /nowhere/a.pem\ntls-key: /nowhere/b.pem\n": "/nowhere/a.pem",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := check(t, "--config="+file); !strings.HasPrefix(got, "error: ") || !strings.Contains(got, want) {
			t.Errorf("%q: %s, want an error with %q", text, got, want)
		}
	}
	got := check(t, "--nats-url=nats://a:1,nats://user:secret:more/b@c:4222")
	if !strings.Contains(got, "nats-url: address 2") || strings.Contains(got, "secret") {
		t.Errorf("an invalid address: %s", got)
	}
	if got := check(t, "--no-such-flag"); !strings.HasPrefix(got, "error: ") {
		t.Errorf("an unknown flag was accepted: %s", got)
	}
	if got := check(t, "--config=/nowhere/retort.yaml"); !strings.HasPrefix(got, "error: ") {
		t.Errorf("a missing file was accepted: %s", got)
	}
}

// Each setting that is out of range has an error of its own, and all are reported at once.
func TestLimitsOfSettings(t *testing.T) {
	notPositive := map[string]string{
		"discovery": "0s", "batch-tokens": "0", "batch-concurrency": "0", "max-connections": "0", "write-timeout": "0s",
		"oracle-timeout": "0s", "oracle-calls": "0", "jobs-file-bytes": "0", "jobs-requests": "0",
		"jobs-concurrency": "0", "jobs-searches": "0", "jobs-search-timeout": "0s", "jobs-keep-searches": "0s",
		"jobs-most-searches": "0", "masked-batch-tokens": "0", "latent-concurrency": "0", "ranking-body-limit": "0",
		"embedding-timeout": "0s",
	}
	want := map[string]string{
		"memory-budget": "-1 is less than 0", "connection-age": "-1s is less than 0s",
		"jobs-max-bytes": "-1 is less than 0", "jobs-key-bytes": "-1 is less than 0",
		"jobs-transfer-rate": "-1 is less than 0", "jobs-keep-files": "59m0s is less than 1h0m0s",
		"chat-queue": "-1 is less than 0", "masked-port": "-2 is not a port (-1 to 65535)",
	}
	for name, value := range notPositive {
		want[name] = value + " is not positive"
	}
	var args []string
	for name, text := range want {
		value, _, _ := strings.Cut(text, " ")
		args = append(args, "--"+name+"="+value)
	}
	got := strings.TrimPrefix(check(t, args...), "error: ")
	lines := strings.Split(got, "\n")
	if len(lines) != len(want) {
		t.Errorf("%d errors instead of %d:\n%s", len(lines), len(want), got)
	}
	for name, text := range want {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasSuffix(line, name+": "+text) }) {
			t.Errorf("no error %q in:\n%s", name+": "+text, got)
		}
	}
}

// The output of check-config contains no secret of any address.
func TestSecretsAreNotPrinted(t *testing.T) {
	got := check(t, "--no-jobs",
		"--nats-url=nats://user:secret@a:4222,tls://secret@b:4222,user:secret@c:4222,"+
			"nats://user:se%2Fcret@d:4222,nats://user:se@cret@e:4222",
		"--otlp-endpoint=https://user:secret@collector/v1?token=secret")
	if strings.Contains(got, "cret") || strings.Contains(got, "user") {
		t.Errorf("a secret in:\n%s", got)
	}
	want := "nats-url:\n- nats://xxxxx@a:4222\n- tls://xxxxx@b:4222\n- xxxxx@c:4222\n" +
		"- nats://xxxxx@d:4222\n- nats://xxxxx@e:4222\n"
	for _, want := range []string{want, "otlp-endpoint: https://xxxxx@collector/v1?xxxxx\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// settingsPage is the operators' page with the table of all settings.
const settingsPage = "docs/operate/SETTINGS.md"

// TestSettingsTable checks that the table in settingsPage matches the code.
func TestSettingsTable(t *testing.T) {
	table := settingsTable(t)
	text, err := os.ReadFile(settingsPage)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- settings: made by go test ./orchestrator -update -->\n", "<!-- end of settings -->"
	head, rest, found := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatal("SETTINGS.md has no place for the settings")
	}
	want := head + begin + table + end + tail
	if *update {
		if err := os.WriteFile(settingsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(text) {
		t.Error("the table in SETTINGS.md is out of date: go test ./orchestrator -update")
	}
}

// settingsTable returns a table of the settings for each part of the program, in Markdown.
func settingsTable(t *testing.T) string {
	t.Helper()
	parser, err := newParser(&commandLine{})
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, flag := range settings.Flags(parser.Model) {
		value := flag.Default
		if value != "" {
			value = "`" + value + "`"
		}
		rows[settingsPart(flag.Name)] += fmt.Sprintf("| `--%s` | `%s` | %s | %s |\n",
			flag.Name, strings.Join(flag.Envs, "`, `"), value, strings.ReplaceAll(flag.Help, "|", `\|`))
	}
	var b strings.Builder
	for _, part := range append([]string{generalPart, "jobs"}, serviceNames()...) {
		fmt.Fprintf(&b, "## %s\n| flag | environment | default | meaning |\n| --- | --- | --- | --- |\n%s\n",
			strings.ToUpper(part[:1])+part[1:], rows[part])
	}
	return b.String()
}

// generalPart is the part of the settings that belong to no API and not to jobs.
const generalPart = "general"

// settingsPart returns the part of the program that a setting belongs to: an API, "jobs", or generalPart.
func settingsPart(flag string) string {
	prefix, _, _ := strings.Cut(flag, "-")
	switch {
	case prefix == "nats":
		return "jobs"
	case prefix == "jobs", slices.Contains(serviceNames(), prefix):
		return prefix
	}
	return generalPart
}

// serviceNames returns the names of the APIs.
func serviceNames() []string {
	var names []string
	for _, s := range services {
		names = append(names, s.name)
	}
	return names
}

func TestVersionAndHelp(t *testing.T) {
	for arg, want := range map[string]string{"version": "retort " + version + "\n", "--help": "serve"} {
		var out bytes.Buffer
		if err := run(t.Context(), []string{arg}, &out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %v %q", arg, err, out.String())
		}
	}
}
