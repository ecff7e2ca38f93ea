package modelimport

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"retort/orchestrator/triton"
)

const rankerConfig = `# a ranker
name: "ranker"
backend: "onnxruntime"
parameters { key: "retort_api"     value { string_value: "ranking" } }
parameters: { key: "quoted" value: { string_value: "a \" and \\" } }
parameters { key: "max_model_len"  value { string_value: "512" } }`

func ranker(t *testing.T, config string) (EntryEdit, string) {
	t.Helper()
	repository := t.TempDir()
	dir := filepath.Join(repository, "ranker")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "1"), 0o755),
		os.WriteFile(filepath.Join(dir, "1", "model.onnx"), []byte("graph"), 0o600),
		os.WriteFile(filepath.Join(dir, "config.pbtxt"), []byte(config), 0o600)); err != nil {
		t.Fatal(err)
	}
	return EntryEdit{Repository: repository, Entry: "ranker"}, filepath.Join(dir, "config.pbtxt")
}

func TestParametersAreSetAndRemoved(t *testing.T) {
	edit, file := ranker(t, rankerConfig)
	edit.Set = []Parameter{{"relevance_calibration", "0.5"}, {"quoted", `b " and \`}}
	for range 2 { // the second time, they are replaced
		if err := edit.Apply(); err != nil {
			t.Fatal(err)
		}
	}
	config, err := parseConfig(filepath.Dir(file))
	if err != nil || len(config.Parameters) != 4 || config.Parameters["relevance_calibration"] != "0.5" ||
		config.Parameters["quoted"] != `b " and \` {
		t.Errorf("%v %v", config.Parameters, err)
	}
	edit.Set, edit.Remove = []Parameter{{"quoted", `a " and \`}}, []string{"relevance_calibration", "absent"}
	if err := edit.Apply(); err != nil {
		t.Fatal(err)
	}
	config, err = parseConfig(filepath.Dir(file))
	if err != nil || len(config.Parameters) != 3 || config.Parameters["quoted"] != `a " and \` {
		t.Errorf("%v %v", config.Parameters, err)
	}
	if text, _ := os.ReadFile(file); !strings.HasPrefix(string(text), "# a ranker\nname:") {
		t.Errorf("%s", text)
	}
	if left, _ := os.ReadDir(edit.Repository); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAnEntryStaysAsItWas(t *testing.T) {
	for name, c := range map[string]struct {
		config, want string
		open         func(*triton.Model) error
	}{
		"list":    {`parameters [ { key: "relevance_calibration" value { string_value: "1" } } ]`, "a line of its own", nil},
		"invalid": {"no config", "config.pbtxt", nil},
		"refused": {rankerConfig, "cannot be opened", func(*triton.Model) error { return errors.New("cannot be opened") }},
	} {
		edit, file := ranker(t, c.config)
		edit.Set, edit.Open = []Parameter{{"relevance_calibration", "0.5"}}, c.open
		err := edit.Apply()
		text, _ := os.ReadFile(file)
		if err == nil || !strings.Contains(err.Error(), c.want) || string(text) != c.config {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if left, _ := os.ReadDir(edit.Repository); len(left) != 1 {
			t.Errorf("%s: left behind: %v", name, left)
		}
	}
}
