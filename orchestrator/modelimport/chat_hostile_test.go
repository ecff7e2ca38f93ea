package modelimport

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"retort/orchestrator/triton"
)

// What cannot be served as its authors intended ends in an error that names the file and the key.
func TestChatRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		change func(chatFolder, *Options)
		want   string
	}{
		"no config.json":      {func(f chatFolder, _ *Options) { delete(f, "config.json") }, "has no config.json"},
		"invalid config.json": {func(f chatFolder, _ *Options) { f["config.json"] = "{" }, "config.json: unexpected end"},
		"a list":              {func(f chatFolder, _ *Options) { f["config.json"] = "[]" }, "config.json: json: cannot unmarshal array"},
		"no architecture": {func(f chatFolder, _ *Options) { f.set("config.json", "architectures", nil) },
			"config.json: architectures is missing"},
		"an encoder": {func(f chatFolder, _ *Options) {
			f.set("config.json", "architectures", []string{"BertForMaskedLM"})
		}, "config.json: architectures has BertForMaskedLM, which writes no text"},
		"an encoder and decoder": {func(f chatFolder, _ *Options) { f.set("config.json", "is_encoder_decoder", true) },
			"config.json: is_encoder_decoder"},
		"text_config is a number": {func(f chatFolder, _ *Options) { f.set("config.json", "text_config", 1) },
			"config.json: text_config is not an object"},
		"negative length": {func(f chatFolder, _ *Options) { f.set("config.json", "max_position_embeddings", -5) },
			"config.json: max_position_embeddings -5 is not a positive integer"},
		"huge length": {func(f chatFolder, _ *Options) { f.set("config.json", "max_position_embeddings", 1e300) },
			"config.json: max_position_embeddings 1e+300 is not a positive integer"},
		"no length": {func(f chatFolder, _ *Options) {
			delete(f["config.json"].(jsonObject), "max_position_embeddings")
			delete(f["tokenizer_config.json"].(jsonObject), "model_max_length")
		}, "config.json: max_position_embeddings is missing: set --max-length"},
		"length 1": {func(f chatFolder, _ *Options) { f.set("config.json", "max_position_embeddings", 1) },
			"config.json: max_position_embeddings is 1"},
		"longer than the model": {func(_ chatFolder, o *Options) { o.MaxLength = 128001 },
			"--max-length 128001 is more than the 128000 tokens of the model (config.json: max_position_embeddings)"},
		"negative --max-length":      {func(_ chatFolder, o *Options) { o.MaxLength = -1 }, "--max-length -1 must be positive"},
		"negative --tensor-parallel": {func(_ chatFolder, o *Options) { o.TensorParallel = -1 }, "--tensor-parallel -1"},
		"negative --max-images":      {func(_ chatFolder, o *Options) { o.MaxImages = new(-1) }, "--max-images -1"},
		"images without vision": {func(f chatFolder, o *Options) {
			delete(f["config.json"].(jsonObject), "vision_config")
			o.MaxImages = new(2)
		}, "--max-images 2: config.json names no vision model"},
		"no processor": {func(f chatFolder, _ *Options) { delete(f, "preprocessor_config.json") },
			"there is no preprocessor_config.json"},
		"relative --engine-path": {func(_ chatFolder, o *Options) { o.EnginePath = "weights" },
			`--engine-path "weights" is not an absolute path`},
		"remote code": {func(f chatFolder, _ *Options) { f.set("config.json", "auto_map", jsonObject{"AutoConfig": "x.X"}) },
			"config.json: auto_map names Python files"},
		"no tokenizer": {func(f chatFolder, _ *Options) {
			delete(f, "tokenizer.json")
			delete(f, "tokenizer_config.json")
		}, "has no tokenizer.json and no tokenizer_config.json"},
		"invalid tokenizer.json": {func(f chatFolder, _ *Options) { f["tokenizer.json"] = `{"added_tokens": 1}` },
			"tokenizer.json: json: cannot unmarshal number"},
		"a token without an id": {func(f chatFolder, _ *Options) {
			f.set("tokenizer_config.json", "added_tokens_decoder", jsonObject{"x": jsonObject{"content": "<x>"}})
		}, `tokenizer_config.json: added_tokens_decoder: id "x" is not an integer`},
		"bos_token is a list": {func(f chatFolder, _ *Options) { f.set("tokenizer_config.json", "bos_token", []int{1}) },
			"tokenizer_config.json: bos_token: it is neither"},
		"too many special tokens": {func(f chatFolder, _ *Options) {
			var tokens []any
			for id := range maxSpecialTokens + 1 {
				tokens = append(tokens, specialToken(id, "<x>"))
			}
			f.set("tokenizer.json", "added_tokens", tokens)
		}, "tokenizer.json: added_tokens has 65537 special tokens"},
		"no weights": {func(f chatFolder, _ *Options) { delete(f, "model.safetensors") }, "has no weights"},
		"weights of Git LFS": {func(f chatFolder, _ *Options) {
			f["model.safetensors"] = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
		}, "model.safetensors is a pointer of Git LFS"},
		"missing shard": {func(f chatFolder, _ *Options) {
			f["model.safetensors.index.json"] = jsonObject{"weight_map": jsonObject{"a": "model-1.safetensors"}}
		}, `weight_map has "model-1.safetensors" for a, but there is no such file`},
		"shard outside": {func(f chatFolder, _ *Options) {
			f["model.safetensors.index.json"] = jsonObject{"weight_map": jsonObject{"a": "../../etc/passwd"}}
		}, `weight_map has "../../etc/passwd" for a, which is outside the folder`},
		"no template": {func(f chatFolder, _ *Options) { delete(f["tokenizer_config.json"].(jsonObject), "chat_template") },
			"has no chat template"},
		"no default template": {func(f chatFolder, _ *Options) {
			f.set("tokenizer_config.json", "chat_template", []any{jsonObject{"name": "rag", "template": ""}})
		}, "tokenizer_config.json: chat_template: its list has no template with the name default"},
		"template is a number": {func(f chatFolder, _ *Options) { f.set("tokenizer_config.json", "chat_template", 7) },
			"tokenizer_config.json: chat_template: it is neither"},
		"template does not parse": {func(f chatFolder, _ *Options) { f["chat_template.jinja"] = "{% for m in %}" },
			"chat_template.jinja: chat template: line 1"},
		"template loops": {func(f chatFolder, _ *Options) {
			f["chat_template.jinja"] = "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}"
		}, "chat_template.jinja: the template renders sample conversations in no supported format"},
		"template writes too much": {func(f chatFolder, _ *Options) { f["chat_template.jinja"] = "{{ 'x' * 999999999 }}" },
			"chat_template.jinja: the template renders"},
		"huge template": {func(f chatFolder, _ *Options) { f["chat_template.jinja"] = strings.Repeat("x", 1<<20+1) },
			"chat_template.jinja: the file has more than 1048576 bytes"},
		"template without images": {func(f chatFolder, _ *Options) {
			f.set("config.json", "model_type", "unheard_of")
			f["chat_template.jinja"] = "{% for m in messages %}{{ m.role + ': ' + m.content }}{% endfor %}"
		}, `as text: no placeholder of an image is known for model_type "unheard_of"`},
		"template loses texts": {func(f chatFolder, _ *Options) { f["chat_template.jinja"] = "<|image_pad|>" },
			"the prompt has the text of the user 0 times"},
		"template prints lists": {func(f chatFolder, _ *Options) {
			f.set("config.json", "model_type", "unheard_of")
			f["chat_template.jinja"] = "{% for m in messages %}{{ m.content }}<|image_pad|>{% endfor %}"
		}, "prints the list of parts as it is"},
		"image token typed wrong": {func(f chatFolder, _ *Options) {
			f["chat_template.jinja"] = "{% for m in messages %}{% for p in m.content %}" +
				"{{ p.text if p.type == 'text' else '<image>' }}{% endfor %}{% endfor %}"
		}, "no special token is in the prompt once for each image"},
		"temperature is a text": {func(f chatFolder, _ *Options) { f.set("generation_config.json", "temperature", "hot") },
			"generation_config.json: json: cannot unmarshal string into Go struct field generationConfig.Defaults.temperature"},
		"top_p 3": {func(f chatFolder, _ *Options) { f.set("generation_config.json", "top_p", 3) },
			"generation_config.json: top_p must be above 0 and at most 1"},
		"max_new_tokens 0": {func(f chatFolder, _ *Options) { f.set("generation_config.json", "max_new_tokens", 0) },
			"generation_config.json: max_new_tokens must be positive"},
		"a flag of encoders": {func(_ chatFolder, o *Options) { o.Pooling = "mean" }, "--pooling is not for models of chat"},
		"no id":              {func(_ chatFolder, o *Options) { o.ID = " " }, "id: the public id is missing"},
		"name of a path":     {func(_ chatFolder, o *Options) { o.Name = "../x" }, `name "../x"`},
		"the gateway refuses": {func(_ chatFolder, o *Options) {
			o.Open = func(*triton.Model) error { return errors.New("no") }
		}, "the new entry failed its check and was not added to the repository: no"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := newQwen(t)
			var flags Options
			c.change(folder, &flags)
			_, _, err := importChatFolder(t, folder.write(t), func(o *Options) {
				o.MaxLength, o.ChatOptions = flags.MaxLength, flags.ChatOptions
				o.Pooling, o.Open = flags.Pooling, flags.Open
				if flags.ID != "" {
					o.ID = flags.ID
				}
				o.Name = flags.Name
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// Files that are no files: a pipe would wait for a writer, and a device never ends.
func TestChatSpecialFiles(t *testing.T) {
	for _, name := range []string{"config.json", "tokenizer.json", "chat_template.jinja", "model.safetensors"} {
		for kind, replace := range map[string]func(path string) error{
			"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o644) },
			"device": func(path string) error { return os.Symlink("/dev/zero", path) },
			"folder": func(path string) error { return os.Mkdir(path, 0o755) },
		} {
			folder := newQwen(t)
			delete(folder, name)
			dir := folder.write(t)
			if err := replace(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			_, _, err := importChatFolder(t, dir, nil)
			if want := name + ": it is not a regular file"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s as a %s: got %v, want an error with %q", name, kind, err, want)
			}
		}
	}
}

// A cache of Hugging Face has links to files outside the folder, which are followed.
func TestChatLinkedFolder(t *testing.T) {
	dir, snapshot := newQwen(t).write(t), t.TempDir()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Symlink(filepath.Join(dir, file.Name()), filepath.Join(snapshot, file.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := importChatFolder(t, snapshot, nil); err != nil {
		t.Fatal(err)
	}
}

// An entry is replaced only with --force, and flags of chat models are refused for others.
func TestChatOverwrite(t *testing.T) {
	dir := newQwen(t).write(t)
	repository := filepath.Join(t.TempDir(), "repository")
	in := func(o *Options) { o.Repository = repository }
	if _, _, err := importChatFolder(t, dir, in); err != nil {
		t.Fatal(err)
	}
	o := Options{Folder: dir, API: apiChat, ID: "tests/model", Repository: repository}
	if _, err := Import(o); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a second import: got %v", err)
	}
	o.Force = true
	if _, err := Import(o); err != nil {
		t.Errorf("with --force: %v", err)
	}
	o.API, o.EnginePath = apiEmbedding, "/models/q"
	if _, err := Import(o); err == nil || !strings.Contains(err.Error(), "--engine-path is not for models of embedding, only of chat") {
		t.Errorf("an embedding model with --engine-path: got %v", err)
	}
}
