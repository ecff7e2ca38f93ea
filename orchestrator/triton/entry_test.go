package triton_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"retort/orchestrator/triton"
)

// newEntry returns a model with parameters and a folder with files.
func newEntry(t *testing.T, parameters, files map[string]string) *triton.Model {
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return &triton.Model{Name: "toy", Dir: dir, Config: &triton.ModelConfig{Name: "toy", Parameters: parameters}}
}

func load(path string) (string, error) {
	data, err := os.ReadFile(path)
	return string(data), err
}

func TestEntryReader(t *testing.T) {
	r := newEntry(t, map[string]string{
		"retort_api": "chat", "model_id": "lab/toy", "max_model_len": "128", "unit": "0.5", "modes": "two",
		"special_tokens": `["<a>", "<b>"]`, "created": "7", "owned_by": "lab",
		"EXECUTION_ENV_PATH": "/opt/env", "gpt_model_type": "inflight_fused_batching",
	}, map[string]string{"vocab.txt": "C", "extra.json": `{"a": 1}`}).Read()
	var extra, none struct{ A int }
	r.ReadJSON("extra.json", &extra)
	r.ReadJSON("absent.json", &none)
	check := func(name string, got, want any) {
		if got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	check("id", r.PublicID(), "lab/toy")
	check("created", r.Created(), int64(7))
	check("owned_by", r.OwnedBy(), "lab")
	check("max_model_len", r.Whole("max_model_len", 512, 4), 128)
	check("max_images", r.Whole("max_images", 3, 0), 3)
	check("unit", r.Number("unit", 0.1, 0, 1), 0.5)
	check("modes", r.OneOf("modes", "one", "two"), "two")
	check("role", r.OneOf("role", "", "encoder"), "")
	check("vocab", triton.ReadFile(r, "vocab", "vocab.txt", load), "C")
	check("extra", extra.A, 1)
	check("special_tokens", strings.Join(r.List("special_tokens"), " "), "<a> <b>")
	if err := r.Done(); err != nil {
		t.Errorf("parameters of the backend must be ignored: %v", err)
	}
}

// One error reports all problems.
func TestEntryReaderReportsAllProblems(t *testing.T) {
	r := newEntry(t, map[string]string{
		"max_model_len": "much", "created": "-1", "unit": "NaN", "modes": "three", "special_tokens": "<a>",
		"vocab": "../vocab.txt", "statistics": "none.json", "Max-Images": "2", "tokeniser": "a.json",
		"retort_apis": "chat", "retort_colour": "red", "rolle": "encoder",
	}, map[string]string{"broken.json": "{"}).Read()
	r.Whole("max_model_len", 512, 4)
	r.Created()
	r.Number("unit", 0.1, 0, 1)
	r.OneOf("modes", "one", "two")
	r.List("special_tokens")
	triton.ReadFile(r, "vocab", "vocab.txt", load)
	triton.ReadFile(r, "statistics", "latent.json", load)
	r.Whole("max_images", 1, 0)
	r.Text("tokenizer", "")
	r.Text("role", "")
	r.Check(errors.New("the output has no width"))
	var broken any
	r.ReadJSON("broken.json", &broken)
	err := r.Done()
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	for _, want := range []string{
		`parameter max_model_len must be a whole number of at least 4, not "much"`,
		`parameter created must be a whole number of at least 0, not "-1"`,
		`parameter unit must be a number from 0 to 1, not "NaN"`,
		`parameter modes must be one of one, two, not "three"`,
		`parameter special_tokens must be a JSON list of strings`,
		`parameter vocab (file ../vocab.txt): file "../vocab.txt" is not in the folder of model toy`,
		`parameter statistics (file none.json): open `,
		`the output has no width`,
		`broken.json: unexpected end of JSON input`,
		`parameter Max-Images is unknown; is max_images meant?`,
		`parameter tokeniser is unknown; is tokenizer meant?`,
		`parameter retort_apis is unknown; is retort_api meant?`,
		`parameter retort_colour is unknown; is retort_api meant?`,
		`parameter rolle is unknown; is role meant?`,
	} {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, want) }) {
			t.Errorf("no line %q in\n%v", want, err)
		}
	}
	if len(lines) != 14 {
		t.Errorf("%d problems, want 14:\n%v", len(lines), err)
	}
}

func TestFileIsInFolder(t *testing.T) {
	m := &triton.Model{Name: "m", Dir: t.TempDir(), Config: &triton.ModelConfig{}}
	if _, err := m.File("../other/tokenizer.json"); err == nil {
		t.Error("a path to another folder was returned")
	}
	if _, err := m.File("tokenizer.json"); err != nil {
		t.Error(err)
	}
	m.Dir = ""
	if _, err := m.File("tokenizer.json"); err == nil {
		t.Error("a path to an unreadable folder was returned")
	}
}
