package modelimport

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder that needs the published code is refused with the file, the key and the option, and leaves no files.
func TestFoldersThatNeedTheirOwnCode(t *testing.T) {
	code := map[string]string{"AutoModel": "modeling.Model"}
	for name, c := range map[string]struct {
		change func(*tiny, *Options)
		want   string
	}{
		"other architecture": {
			func(f *tiny, _ *Options) { f.config["model_type"] = "electra" },
			`config.json: model_type "electra"`,
		},
		"the option is named": {
			func(f *tiny, _ *Options) { f.config["model_type"] = "electra" }, "--python FILE exports",
		},
		"code that is not trusted": {
			func(f *tiny, o *Options) {
				f.config["model_type"] = "custom"
				f.config["auto_map"] = code
				o.Python = "/bin/false"
			},
			"config.json: auto_map names code",
		},
		"no Python": {
			func(f *tiny, o *Options) {
				f.config["model_type"] = "electra"
				o.Python = "/missing/python"
			},
			"/missing/python",
		},
		"a Python without packages": {
			func(f *tiny, o *Options) {
				f.config["model_type"] = "electra"
				o.Python = "/bin/false"
			},
			`model_type "electra"`,
		},
		"fp16 of an exported graph": {
			func(f *tiny, o *Options) {
				f.config["model_type"] = "electra"
				o.Python = "/bin/false"
				o.Precision = precisionFP16
			},
			"stores weights in fp32",
		},
		"a failed comparison": {
			func(_ *tiny, o *Options) { o.Python = "/bin/false" }, "could not compare the model",
		},
		"a failed comparison with a model of code": {
			func(f *tiny, o *Options) {
				f.config["auto_map"] = code
				o.Python = "/bin/false"
			},
			"--trust-remote-code runs it",
		},
		"trusted code that nothing runs": {
			func(_ *tiny, o *Options) { o.TrustRemoteCode = true }, "--trust-remote-code needs --python",
		},
		"missing shard": {
			func(f *tiny, _ *Options) {
				f.tensors = nil
				f.files[tensorsIndex] = map[string]any{"weight_map": map[string]string{"x": "model-2.safetensors"}}
			},
			"model.safetensors.index.json: weight_map names model-2.safetensors, which the folder does not have",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newTiny(apiEmbedding)
			o := Options{Repository: t.TempDir()}
			c.change(f, &o)
			_, err := importTiny(t, f.write(t), o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if left, _ := os.ReadDir(o.Repository); len(left) > 0 {
				t.Errorf("the repository has %v", left)
			}
		})
	}
}

// The precision of an entry is that of its weights.
func TestStoredPrecision(t *testing.T) {
	for precision, want := range map[string]string{
		"": precisionFP16, precisionFP32: precisionFP32,
	} {
		result, err := importTiny(t, newTiny(apiEmbedding).write(t), Options{Precision: precision})
		if err != nil {
			t.Fatal(err)
		}
		if got := storedPrecision(result.Dir); got != want {
			t.Errorf("precision %q: %q is stored, want %q", precision, got, want)
		}
		if got := precisionOf(readGraph(t, result)); got != want {
			t.Errorf("precision %q: the graph has %q, want %q", precision, got, want)
		}
	}
}

// A graph that is cut or changed anywhere has some precision, or none, and never stops the program.
func TestStoredPrecisionOfBrokenFiles(t *testing.T) {
	result, err := importTiny(t, newTiny(apiEmbedding).write(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(result.Dir, "1", "model.onnx")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(data); i += 1 + len(data)/200 {
		broken := append([]byte{}, data...)
		broken[i] ^= 0xff
		for _, content := range [][]byte{data[:i], broken} {
			if err := os.WriteFile(path, content, 0o644); err != nil {
				t.Fatal(err)
			}
			storedPrecision(result.Dir)
		}
	}
}

// A restored entry has the files that it had, and a new entry is gone.
func TestBackup(t *testing.T) {
	repository := t.TempDir()
	read := func() string {
		text, _ := os.ReadFile(filepath.Join(repository, "e", "1", "model"))
		return string(text)
	}
	write := func(text string) {
		dir := filepath.Join(repository, "e", "1")
		// As an import does, which replaces the folder and never writes to files in place.
		if err := os.RemoveAll(filepath.Join(repository, "e")); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "model"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"", "old"} {
		if want != "" {
			write(want)
		}
		b, err := NewBackup(repository, "e")
		if err != nil {
			t.Fatal(err)
		}
		if b.Exists() != (want != "") {
			t.Errorf("there was %q, but the backup exists: %t", want, b.Exists())
		}
		write("new")
		if err := b.Restore(); err != nil {
			t.Fatal(err)
		}
		b.Drop()
		if got := read(); got != want {
			t.Errorf("restored %q, want %q", got, want)
		}
	}
	if left, _ := os.ReadDir(repository); len(left) != 1 {
		t.Errorf("the repository has %v", left)
	}
	if b, err := NewBackup(repository, ""); err != nil || b.Exists() {
		t.Errorf("an entry without a name has a backup: %v", err)
	}
}
