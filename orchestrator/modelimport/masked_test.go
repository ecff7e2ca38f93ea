package modelimport

import (
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const genmolFolder = "../../scripts/tests/testdata/genmol"

// genmolCopy copies the checkpoint of version 2 to a new folder, with the contents of files replaced: data.pkl is in
// model.ckpt. Nil removes a file.
func genmolCopy(t *testing.T, change map[string]func(text string) []byte) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"tokenizer.json", "len.pk"} {
		text, err := os.ReadFile(filepath.Join(genmolFolder, "v2", name))
		if err != nil {
			t.Fatal(err)
		}
		if f := change[name]; f != nil {
			text = f(string(text))
		}
		if text != nil {
			writeFile(t, filepath.Join(dir, name), text)
		}
	}
	from, err := zip.OpenReader(filepath.Join(genmolFolder, "v2", "model.ckpt"))
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	var to bytes.Buffer
	w := zip.NewWriter(&to)
	for _, member := range from.File {
		_, inside, _ := strings.Cut(member.Name, "/")
		content, err := member.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		if f := change[inside]; f != nil {
			text = f(string(text))
		}
		if text == nil {
			continue
		}
		file, err := w.CreateHeader(&zip.FileHeader{Name: member.Name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := file.Write(text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "model.ckpt"), to.Bytes())
	return dir
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func importGenMol(dir, repository string, more func(*Options)) (*Result, error) {
	o := Options{Folder: dir, API: apiMasked, ID: "tests/genmol-v2", Repository: repository}
	if more != nil {
		more(&o)
	}
	return Import(o)
}

func TestImportGenMol(t *testing.T) {
	for _, precision := range []string{"", precisionFP32} {
		result, err := importGenMol(genmolCopy(t, nil), t.TempDir(), func(o *Options) { o.Precision = precision })
		if err != nil {
			t.Fatal(err)
		}
		card, err := os.ReadFile(filepath.Join(result.Dir, "CARD.md"))
		if err != nil || !strings.Contains(string(card), "numbers in angle brackets") {
			t.Errorf("the card is %s, %v", card, err)
		}
	}
}

// replaced returns a change of a text that replaces old, which must occur.
func replaced(t *testing.T, old, with string) func(string) []byte {
	return func(text string) []byte {
		if !strings.Contains(text, old) {
			t.Errorf("the file has no %q", old)
		}
		return []byte(strings.ReplaceAll(text, old, with))
	}
}

func removed(string) []byte { return nil }

func fixed(text string) func(string) []byte { return func(string) []byte { return []byte(text) } }

// Folders that cannot be served are refused with the file and the key, and nothing is left in the repository.
func TestWrongGenMolFolders(t *testing.T) {
	for name, c := range map[string]struct {
		change map[string]func(string) []byte
		want   string
	}{
		"a pickle with code": {
			map[string]func(string) []byte{"data.pkl": fixed("\x80\x02cposix\nsystem\nX\x02\x00\x00\x00ls\x85R.")},
			"model.ckpt: data.pkl: the pickle uses posix.system, which is not data of PyTorch Lightning",
		},
		"code in Python 2's spelling": {
			map[string]func(string) []byte{"data.pkl": fixed("\x80\x02c__builtin__\neval\nX\x01\x00\x00\x001\x85R.")},
			"builtins.eval",
		},
		"lengths with code": {
			map[string]func(string) []byte{"len.pk": fixed("\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R.")},
			"len.pk: the pickle uses os.system",
		},
		"lengths that are none": {
			map[string]func(string) []byte{"len.pk": fixed("\x80\x04]K\x00a.")}, "len.pk: 0 is not the length of a string",
		},
		"no lengths":   {map[string]func(string) []byte{"len.pk": removed}, "has no len.pk: copy data/len.pk"},
		"no tokenizer": {map[string]func(string) []byte{"tokenizer.json": removed}, "has no tokenizer.json"},
		"a tokenizer of another kind": {
			map[string]func(string) []byte{"tokenizer.json": replaced(t, `"custom_pre_tokenizer": true`, `"x": 1`)},
			`tokenizer.json: model.type "BPE", custom_pre_tokenizer false`,
		},
		"a tokenizer of another size": {
			map[string]func(string) []byte{"tokenizer.json": replaced(t, `"I": `, `"Xe": 55, "I": `)},
			"2 of them angle brackets to add, but model.ckpt: hyper_parameters.config.model has vocab_size",
		},
		"a missing tensor": {
			map[string]func(string) []byte{"data.pkl": replaced(t, "cls.predictions.bias", "cls.predictions.bios")},
			"model.ckpt: the weights have no tensor cls.predictions.bias",
		},
		"another network": {
			map[string]func(string) []byte{"data.pkl": replaced(t, "backbone.", "backwood.")},
			"model.ckpt: state_dict has no backbone. tensors: it is not a checkpoint of GenMol",
		},
		"no averages": {
			map[string]func(string) []byte{"data.pkl": replaced(t, "shadow_params", "shadow_barams")},
			"model.ckpt: ema.shadow_params is not a list of",
		},
		"no hyperparameters": {
			map[string]func(string) []byte{"data.pkl": replaced(t, "hyper_parameters", "hyper_barameters")},
			"model.ckpt: it has no dictionary hyper_parameters",
		},
		"other positions": {
			map[string]func(string) []byte{"data.pkl": replaced(t, "absolute", "relative")},
			`model.ckpt: hyper_parameters.config.model: position_embedding_type "relative" is not supported`,
		},
		"a missing storage": {
			map[string]func(string) []byte{"data/3": removed}, "model.ckpt: data.pkl: the zip has no member data/3",
		},
		"a short storage": {
			map[string]func(string) []byte{"data/42": func(text string) []byte { return []byte(text[:8]) }},
			"model.ckpt: tensor bert.embeddings.word_embeddings.weight of shape [",
		},
		"numbers in another order": {
			map[string]func(string) []byte{"byteorder": fixed("big")}, `model.ckpt: byteorder is "big"`,
		},
		"no pickle": {map[string]func(string) []byte{"data.pkl": removed}, "model.ckpt: the zip has no member data.pkl"},
	} {
		t.Run(name, func(t *testing.T) {
			repository := t.TempDir()
			_, err := importGenMol(genmolCopy(t, c.change), repository, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if left, _ := os.ReadDir(repository); len(left) > 0 {
				t.Errorf("the repository has %v", left)
			}
		})
	}
}

func TestMaskedOptionsAreChecked(t *testing.T) {
	yes := true
	for want, change := range map[string]func(*Options){
		"precision int8 is not supported for masked models": func(o *Options) { o.Precision = precisionInt8 },
		"weights onnx": func(o *Options) { o.Weights = "onnx" },
		"--normalize is not for models of masked, only of embedding": func(o *Options) { o.Normalize = &yes },
		"--trust-remote-code is not for models of masked":            func(o *Options) { o.TrustRemoteCode = true },
		"cannot be derived from it: give --name":                     func(o *Options) { o.ID = "nvidia/ü" },
		"max-length 129: model.ckpt: hyper_parameters.config.model has max_position_embeddings for 128 tokens": func(
			o *Options) {
			o.MaxLength = 129
		},
	} {
		_, err := importGenMol(genmolCopy(t, nil), t.TempDir(), change)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
}

// The masked API adds a version to an id without one.
func TestResultOfAMaskedImportHasTheServedID(t *testing.T) {
	for id, want := range map[string]string{"nvidia/genmol": "nvidia/genmol-v1", "nvidia/genmol-v2": "nvidia/genmol-v2"} {
		result, err := importGenMol(genmolCopy(t, nil), t.TempDir(), func(o *Options) { o.ID = id })
		if err != nil || result.ID != want {
			t.Errorf("%s: the result is %+v (%v), want the id %s", id, result, err, want)
		}
	}
}

// A pickle that ends early, or of which a byte is changed, is an error or data, never a crash.
func TestDamagedPickles(t *testing.T) {
	c, err := openCheckpoint(filepath.Join(genmolFolder, "v1", "model.ckpt"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	text, err := c.text("data.pkl")
	if err != nil {
		t.Fatal(err)
	}
	for size := 0; size < len(text); size += 97 {
		if _, err := (&unpickler{data: []byte(text[:size]), persistent: c.storage}).load(); err == nil {
			t.Errorf("the first %d bytes are a pickle", size)
		}
	}
	for at := 0; at < len(text); at += 41 {
		damaged := []byte(text)
		damaged[at] ^= 0x55
		_, _ = (&unpickler{data: damaged, persistent: c.storage}).load()
	}
}
