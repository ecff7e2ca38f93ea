package settings_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"retort/orchestrator/settings"
)

// program is a command line with settings of all kinds.
type program struct {
	Config kong.ConfigFlag

	Port         int      `default:"8000" env:"TEST_PORT,TEST_OTHER_PORT"`
	LogLevel     string   `default:"info"`
	Verbose      bool     `negatable:"" default:"true"`
	NatsURL      []string `name:"nats-url"`
	OTLPEndpoint string   `name:"otlp-endpoint"`
	Greeting     string   `name:"greeting"`

	Embedding struct {
		Port int `default:"8003"`
	} `embed:"" prefix:"embedding-"`

	Run struct {
		Fast bool
	} `cmd:"" default:"1"`
}

// parse parses a command line with the text of a settings file.
func parse(t *testing.T, file string, args ...string) (program, *kong.Kong, error) {
	t.Helper()
	var p program
	parser, err := kong.New(&p, kong.Configuration(settings.YAML))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = parser.Parse(append([]string{"--config=" + name}, args...))
	return p, parser, err
}

func TestKeysOfFile(t *testing.T) {
	for file, want := range map[string]int{
		"":                           8003,
		"embedding-port: 9":          9,
		"embedding_port: 9":          9,
		"embedding: {port: 9}":       9,
		"embedding:\n  port: '9'\n":  9,
		"log-level: warn\nport: 9\n": 8003,
	} {
		p, _, err := parse(t, file)
		if err != nil || p.Embedding.Port != want {
			t.Errorf("%q: port %d, %v", file, p.Embedding.Port, err)
		}
	}
}

func TestValuesOfFile(t *testing.T) {
	p, _, err := parse(t, "nats-url: [a:1, b:2]\nverbose: false\nlog_level: debug\nfast: true\n")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.NatsURL, []string{"a:1", "b:2"}) || p.Verbose || p.LogLevel != "debug" || !p.Run.Fast {
		t.Errorf("%+v", p)
	}
}

// A flag wins over the environment, which wins over the file.
func TestPrecedence(t *testing.T) {
	const file = "port: 1"
	for _, c := range []struct {
		variable string // "" for none
		args     []string
		want     int
	}{
		{"", nil, 1},
		{"TEST_PORT", nil, 2},
		{"TEST_OTHER_PORT", nil, 2},
		{"", []string{"--port=3"}, 3},
		{"TEST_PORT", []string{"--port=3"}, 3},
	} {
		t.Run(c.variable+strings.Join(c.args, ""), func(t *testing.T) {
			if c.variable != "" {
				t.Setenv(c.variable, "2")
			}
			p, _, err := parse(t, file, c.args...)
			if err != nil || p.Port != c.want {
				t.Errorf("port %d instead of %d, %v", p.Port, c.want, err)
			}
		})
	}
}

func TestInvalidFiles(t *testing.T) {
	for file, want := range map[string]string{
		"prot: 1":                      "no such setting: prot",
		"embedding: {prot: 1, x: 2}":   "no such setting: embedding-prot, embedding-x",
		"port: many":                   "port",
		"port: [":                      "",
		"- port":                       "",
		"embedding: {port: {more: 1}}": "no such setting: embedding-port-more",
	} {
		_, _, err := parse(t, file)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an error with %q", file, err, want)
		}
	}
}

func TestFlagsAreTheSettings(t *testing.T) {
	_, parser, err := parse(t, "")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, flag := range settings.Flags(parser.Model) {
		names = append(names, flag.Name)
	}
	want := []string{"port", "log-level", "verbose", "nats-url", "otlp-endpoint", "greeting", "embedding-port"}
	if !slices.Equal(names, want) {
		t.Errorf("%q instead of %q", names, want)
	}
}

// What Format prints is a settings file with the same values.
func TestFormatCanBeRead(t *testing.T) {
	first, parser, err := parse(t, "port: 9\nnats-url: [a:1, b:2]\nverbose: false\n",
		"--embedding-port=7", "--greeting=a: b")
	if err != nil {
		t.Fatal(err)
	}
	text, err := settings.Format(parser.Model)
	if err != nil {
		t.Fatal(err)
	}
	const want = "port: 9\nlog-level: info\nverbose: false\nnats-url:\n- a:1\n- b:2\n" +
		"otlp-endpoint: \"\"\ngreeting: \"a: b\"\nembedding-port: 7\n"
	if text != want {
		t.Errorf("%s\ninstead of\n%s", text, want)
	}
	second, _, err := parse(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if second.Port != first.Port || second.Greeting != first.Greeting || second.Embedding != first.Embedding ||
		!slices.Equal(second.NatsURL, first.NatsURL) || second.Verbose != first.Verbose {
		t.Errorf("%+v instead of %+v", second, first)
	}
}

func TestFormatMasksSecrets(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"nats-url", "nats://host:4222", "nats://host:4222"},
		{"nats-url", "host:4222", "host:4222"},
		{"nats-url", "nats://user:secret@host:4222", "nats://xxxxx@host:4222"},
		{"nats-url", "tls://secret@host", "tls://xxxxx@host"},
		{"nats-url", "user:secret@host", "xxxxx@host"},
		{"nats-url", "nats://user:se@cret@host", "nats://xxxxx@host"},
		{"nats-url", "nats://user:se/cret@host", "nats://xxxxx@host"},
		{"nats-url", "nats://user:se?cret@host", "nats://xxxxx"},
		{"otlp-endpoint", "https://host/path?token=secret", "https://host/path?xxxxx"},
		{"otlp-endpoint", "host/path?token=secret", "host/path?xxxxx"},
		{"otlp-endpoint", "https://user:secret@host?token=secret", "https://xxxxx@host?xxxxx"},
		{"otlp-endpoint", "https://host?token=se@cret", "https://xxxxx"},
		{"greeting", "https://user:secret@host", "https://xxxxx@host"},
		{"greeting", "Dear anna@example, how are you?", "Dear anna@example, how are you?"},
	} {
		_, parser, err := parse(t, "", "--"+c.flag+"="+c.value)
		if err != nil {
			t.Fatal(err)
		}
		text, err := settings.Format(parser.Model)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text, " "+c.want+"\n") {
			t.Errorf("%s: no %q in\n%s", c.value, c.want, text)
		}
	}
}
