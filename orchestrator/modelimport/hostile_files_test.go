package modelimport

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// within fails a test whose function takes longer than a hostile file may cost.
func within(t *testing.T, limit time.Duration, f func() error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(limit):
		t.Fatal("it does not end")
		return nil
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %.200v, want %q in it", err, want)
	}
}

// A pipe in place of a file is an error: reading it would wait for a writer.
func TestPipesInFolders(t *testing.T) {
	pipe := func(dir, name string) {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const want = ": it is not a regular file"
	for _, name := range []string{
		"config.json", "tokenizer.json", "modules.json", "sentence_bert_config.json", "tokenizer_config.json",
		"config_sentence_transformers.json", tensorsFile, "model.onnx",
	} {
		dir := newTiny(apiEmbedding).write(t)
		pipe(dir, name)
		o := Options{}
		if name == "model.onnx" {
			o.Weights = "onnx"
		}
		err := within(t, time.Minute, func() error { _, err := importTiny(t, dir, o); return err })
		refused(t, err, name+want)
	}
	dir := newTiny(apiEmbedding).write(t)
	pipe(dir, "README.md") // only the licence is read from it
	if err := within(t, time.Minute, func() error { _, err := importTiny(t, dir, Options{}); return err }); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"model.ckpt", lengthsPickle, lengthsFile, "tokenizer.json"} {
		dir := genmolCopy(t, nil)
		pipe(dir, name)
		err := within(t, time.Minute, func() error { _, err := importGenMol(dir, t.TempDir(), nil); return err })
		refused(t, err, name+want)
	}
}

// Tokenizers whose ids are not the rows of a table.
func TestHostileSAFETokenizers(t *testing.T) {
	change := func(edit func(map[string]any)) func(string) []byte {
		return func(text string) []byte {
			var file map[string]any
			if err := json.Unmarshal([]byte(text), &file); err != nil {
				t.Fatal(err)
			}
			edit(file)
			data, err := json.Marshal(file)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
	}
	vocabulary := func(file map[string]any) map[string]any {
		return file["model"].(map[string]any)["vocab"].(map[string]any)
	}
	for want, edit := range map[string]func(map[string]any){
		"tokenizer.json: the vocabulary has id -3": func(f map[string]any) { vocabulary(f)["[MASK]"] = -3 },
		"tokenizer.json: the vocabulary has id 1000000000": func(f map[string]any) {
			vocabulary(f)["[MASK]"] = 1_000_000_000
		},
		"tokenizer.json: it has no model.vocab": func(f map[string]any) { f["model"].(map[string]any)["vocab"] = nil },
		"tokenizer.json: added_tokens has null": func(f map[string]any) { f["added_tokens"] = []any{nil} },
	} {
		dir := genmolCopy(t, map[string]func(string) []byte{"tokenizer.json": change(edit)})
		_, err := importGenMol(dir, t.TempDir(), nil)
		refused(t, err, want)
	}
}

// A pickle of few bytes with many values would fill the memory.
func TestPickleBombs(t *testing.T) {
	for name, text := range map[string]string{
		"values": strings.Repeat("}", maxOperations+1),
		"memo":   "N" + strings.Repeat("\x94", maxOperations+1),
		"tuples": "N" + strings.Repeat("\x85", maxOperations+1),
	} {
		_, err := (&unpickler{data: []byte(text)}).load()
		if err == nil || !strings.Contains(err.Error(), "more than") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	// Operations that lack their bytes or their values on the stack.
	for _, text := range []string{
		"(", "t.", "q", "\x8a\xff", "\x95", "j\xff\xff\xff\xff.", "X\xff\xff\xff\xff", "cx", "R.", "N\x85R.", "b.", "s.", "}(Nu.", "Q.",
	} {
		if _, err := (&unpickler{data: []byte(text)}).load(); err == nil {
			t.Errorf("%q is a pickle", text)
		}
	}
}

// The size of a member plus its place is more than an int64 holds.
func TestHugeStorage(t *testing.T) {
	var archive bytes.Buffer
	w := zip.NewWriter(&archive)
	header := &zip.FileHeader{
		Name: "m/data/0", Method: zip.Store, CompressedSize64: math.MaxInt64 - 8, UncompressedSize64: math.MaxInt64 - 8,
	}
	if _, err := w.CreateRaw(header); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(archive.Bytes()), int64(archive.Len()))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	c := &checkpoint{file: file, members: map[string]*zip.File{"data/0": r.File[0]}}
	_, err = c.storage(&list{[]any{"storage", global{"torch", "FloatStorage"}, "0", "cpu", int64(1)}})
	refused(t, err, "is outside the file")
}

// Numbers of layers and modules that would take years or all memory.
func TestHostileNumbers(t *testing.T) {
	f := newTinyLlama("gemma3_text", "")
	f.config["num_hidden_layers"] = 1 << 60
	f.config["sliding_window_pattern"] = 1 << 50
	dir := f.write(t)
	err := within(t, time.Minute, func() error { _, err := importTiny(t, dir, Options{}); return err })
	refused(t, err, "config.json: num_hidden_layers 1152921504606846976")

	f = newTinyLlama("qwen3", "")
	f.config["layer_types"] = []any{1}
	_, err = importTiny(t, f.write(t), Options{})
	refused(t, err, "config.json: ")
	refused(t, err, "layer_types")

	f = newTiny(apiEmbedding)
	var modules []map[string]any
	for range maxModules + 1 {
		modules = append(modules, map[string]any{"path": "2_Dense", "type": "Dense"})
	}
	f.files["modules.json"] = modules
	_, err = importTiny(t, f.write(t), Options{})
	refused(t, err, "modules.json: it has ")
}

// Tensors that share bytes would fill the memory from a small file.
func TestSharedTensors(t *testing.T) {
	dir := newTiny(apiEmbedding).write(t)
	header := `{"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}, ` +
		`"y": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}`
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	writeFile(t, filepath.Join(dir, tensorsFile), append(append(data, header...), 0, 0, 0, 0))
	_, err := importTiny(t, dir, Options{})
	refused(t, err, "model.safetensors: header: the tensors have more bytes than the 4 of the file")
}

// A template that shows another token for an image whenever image_token is the last one never agrees with itself.
func TestFickleImageToken(t *testing.T) {
	f := newQwen(t)
	f["chat_template.jinja"] = "{% for m in messages %}{% for p in m.content %}{{ p.text if p.type == 'text' else " +
		"('<|im_end|>' if image_token == '<|im_start|>' else '<|im_start|>') }}{% endfor %}{% endfor %}"
	err := within(t, time.Minute, func() error { _, _, err := importChatFolder(t, f.write(t), nil); return err })
	refused(t, err, "chat_template.jinja: the template renders sample conversations in no supported format")
}

// An entry that cannot be read does not hide the others.
func TestListUnreadable(t *testing.T) {
	repository := t.TempDir()
	if _, err := importTiny(t, newTiny(apiEmbedding).write(t), Options{Repository: repository}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"dangling", "folder"} {
		if err := os.Mkdir(filepath.Join(repository, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(repository, "dangling", "config.pbtxt"), []byte(`name: "dangling"`))
	if err := os.Symlink("nowhere", filepath.Join(repository, "dangling", "file")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(repository, "folder", "config.pbtxt"), 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := List(repository)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	for _, e := range entries {
		if unreadable := e.Name == "folder"; (e.Problem != "") != unreadable {
			t.Errorf("%s has the problem %q", e.Name, e.Problem)
		}
	}
}
