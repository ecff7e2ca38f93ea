package modelimport

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type jsonObject = map[string]any

// chatFolder is the folder of a published chat model. Its files, by name, are JSON values or texts.
type chatFolder map[string]any

func specialToken(id int, content string) jsonObject {
	return jsonObject{"id": id, "content": content, "special": true}
}

// newQwen returns a folder like those of Qwen2.5-VL, whose tokenizer adds no bos_token.
func newQwen(t *testing.T) chatFolder {
	return chatFolder{
		"config.json": jsonObject{
			"model_type": "qwen2_5_vl", "architectures": []string{"Qwen2_5_VLForConditionalGeneration"},
			"max_position_embeddings": 128000, "image_token_id": 6, "vision_config": jsonObject{"depth": 32},
		},
		"preprocessor_config.json": jsonObject{},
		"tokenizer.json": jsonObject{"added_tokens": []any{
			specialToken(1, "<|endoftext|>"), specialToken(2, "<|im_start|>"), specialToken(3, "<|im_end|>"),
			specialToken(4, "<|vision_start|>"), specialToken(5, "<|vision_end|>"), specialToken(6, "<|image_pad|>"),
			jsonObject{"id": 7, "content": "<tool_call>", "special": false},
		}},
		"tokenizer_config.json": jsonObject{
			"eos_token": "<|im_end|>", "bos_token": nil, "add_bos_token": false, "model_max_length": 131072,
			"chat_template": publishedTemplate(t, "qwen2-vl.jinja"),
		},
		"generation_config.json": jsonObject{
			"do_sample": true, "temperature": 0.1, "top_p": 0.001, "top_k": 1, "repetition_penalty": 1.05,
			"eos_token_id": []int{3, 1},
		},
		"model.safetensors": "weights",
		"README.md":         "---\nlicense: apache-2.0\n---\n",
	}
}

// newGemma returns a folder like those of Gemma 3, whose tokenizer adds bos_token, and whose config.json leaves the
// longest text to the defaults of transformers.
func newGemma(t *testing.T) chatFolder {
	return chatFolder{
		"config.json": jsonObject{
			"model_type": "gemma3", "architectures": []string{"Gemma3ForConditionalGeneration"},
			"text_config":     jsonObject{"model_type": "gemma3_text", "hidden_size": 2560},
			"vision_config":   jsonObject{"model_type": "siglip_vision_model"},
			"boi_token_index": 4, "image_token_index": 6,
		},
		"preprocessor_config.json": jsonObject{},
		"tokenizer.json": jsonObject{
			"added_tokens": []any{
				specialToken(1, "<eos>"), specialToken(2, "<bos>"), specialToken(3, "<end_of_turn>"), specialToken(4, "<start_of_image>"),
				specialToken(5, "<end_of_image>"), specialToken(6, "<image_soft_token>"),
			},
			"post_processor": jsonObject{
				"type": "TemplateProcessing", "single": []any{jsonObject{"SpecialToken": jsonObject{"id": "<bos>"}}, jsonObject{}},
			},
		},
		"tokenizer_config.json": jsonObject{
			"bos_token": jsonObject{"content": "<bos>"}, "eos_token": "<eos>", "model_max_length": 1e30,
			"extra_special_tokens": jsonObject{"image_token": "<image_soft_token>"},
		},
		"chat_template.json":               jsonObject{"chat_template": publishedTemplate(t, "gemma-3.jinja")},
		"generation_config.json":           jsonObject{"top_k": 64, "top_p": 0.95, "max_new_tokens": 512},
		"model-00001-of-00001.safetensors": "weights",
		"model.safetensors.index.json": jsonObject{
			"weight_map": jsonObject{"a": "model-00001-of-00001.safetensors"},
		},
	}
}

// publishedTemplate returns a chat template with the constructs of published ones.
func publishedTemplate(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../chat/prompt/testdata/templates", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// write writes the folder.
func (f chatFolder) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range f {
		text, ok := content.(string)
		if !ok {
			encoded, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			text = string(encoded)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// set changes a key of a JSON file.
func (f chatFolder) set(file, key string, value any) chatFolder {
	if f[file] == nil {
		f[file] = jsonObject{}
	}
	f[file].(jsonObject)[key] = value
	return f
}

// importChatFolder imports a folder into a new repository. entry is the folder of the entry.
func importChatFolder(t *testing.T, dir string, change func(*Options)) (result *Result, entry string, err error) {
	t.Helper()
	o := Options{
		Folder: dir, API: apiChat, ID: "tests/model", Repository: filepath.Join(t.TempDir(), "repository"),
		Now: time.Unix(1760000000, 0),
	}
	if change != nil {
		change(&o)
	}
	result, err = Import(o)
	if err != nil {
		if left, _ := os.ReadDir(o.Repository); len(left) > 0 {
			t.Errorf("the repository has %v after an error", left)
		}
	}
	return result, filepath.Join(o.Repository, "model"), err
}

func values(r *Result) map[string]string {
	all := map[string]string{}
	for _, p := range r.Parameters {
		all[p.Key] = p.Value
	}
	return all
}

func readEntryFile(t *testing.T, entry, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(entry, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestImportChat(t *testing.T) {
	dir := newQwen(t).write(t)
	result, entry, err := importChatFolder(t, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"retort_api": "chat", "model_id": "tests/model", "owned_by": "tests", "created": "1760000000",
		"max_model_len": "128000", "max_images": "4", "content_format": "parts", "image_first": "false",
		"strip_bos": "false", "image_token": "<|image_pad|>",
		"default_sampling": `{"temperature":0.1,"top_p":0.001,"top_k":1,"repetition_penalty":1.05}`,
	}
	if diff := cmp.Diff(want, values(result)); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	wantArguments := `{
  "model": "` + dir + `",
  "max_model_len": 128000,
  "limit_mm_per_prompt": {
    "image": 4,
    "video": 0
  }
}
`
	if diff := cmp.Diff(wantArguments, readEntryFile(t, entry, "1/model.json")); diff != "" {
		t.Errorf("model.json (-want +got):\n%s", diff)
	}
	if got := readEntryFile(t, entry, "chat_template.jinja"); got != publishedTemplate(t, "qwen2-vl.jinja") {
		t.Errorf("chat_template.jinja is not the template of tokenizer_config.json: %q", got)
	}
	tokens := readEntryFile(t, entry, "tokenizer_config.json")
	if !strings.Contains(tokens, `"<|im_start|>"`) || strings.Contains(tokens, "<tool_call>") {
		t.Errorf("tokenizer_config.json has not the special tokens only: %s", tokens)
	}
	if card := readEntryFile(t, entry, "CARD.md"); !strings.Contains(card, "apache-2.0") || !strings.Contains(card, dir) {
		t.Errorf("CARD.md has not the licence and the place of the weights:\n%s", card)
	}
	notes := strings.Join(result.Notes, "\n")
	for _, want := range []string{"has no weights: the engine reads them from " + dir, "one text of 128000 tokens"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes %q lack %q", notes, want)
		}
	}
}

func TestImportChatVariants(t *testing.T) {
	qwen, gemma := newQwen, newGemma
	numbered := func(t *testing.T) chatFolder {
		f := newQwen(t).set("config.json", "model_type", "phi3_v")
		return f.set("tokenizer_config.json", "chat_template", publishedTemplate(t, "phi-3-vision.jinja"))
	}
	llama := func(t *testing.T) chatFolder {
		f := newGemma(t).set("config.json", "model_type", "mllama")
		f.set("config.json", "image_token_index", 9)
		f["tokenizer.json"].(jsonObject)["added_tokens"] = []any{specialToken(9, "<|image|>"), specialToken(2, "<bos>")}
		return f.set("chat_template.json", "chat_template", publishedTemplate(t, "llama-3.2-vision.jinja"))
	}
	template := func(name string, image string) func(t *testing.T) chatFolder {
		return func(t *testing.T) chatFolder {
			f := newQwen(t).set("tokenizer_config.json", "chat_template", publishedTemplate(t, name))
			f["tokenizer.json"] = jsonObject{"added_tokens": []any{specialToken(1, "<|im_start|>"), specialToken(6, image)}}
			return f
		}
	}
	for name, c := range map[string]struct {
		folder func(*testing.T) chatFolder
		change func(chatFolder, *Options)
		want   map[string]string
		note   string
	}{
		"Gemma 3": {gemma, nil, map[string]string{
			"max_model_len": "131072", "strip_bos": "true", "image_token": "<start_of_image>", "content_format": "parts",
			"default_sampling": `{"top_p":0.95,"top_k":64}`, "default_max_tokens": "512",
		}, ""},
		"Llama 3.2 Vision": {llama, nil, map[string]string{
			"content_format": "mixed", "strip_bos": "true", "image_token": "<|image|>",
		}, "rejects a system message and an image"},
		"Phi-3.5 Vision": {numbered, nil, map[string]string{
			"content_format": "text", "image_first": "true", "image_placeholder": "<|image_{n}|>",
			"special_tokens": `["<|image_"]`, "image_token": "",
		}, ""},
		"Qwen3-VL": {template("qwen3-vl.jinja", "<|image_pad|>"), nil, map[string]string{
			"content_format": "parts", "tools": "hermes",
		}, ""},
		"LLaVA 1.5":       {template("llava-1.5.jinja", "<image>"), nil, map[string]string{"image_token": "<image>"}, ""},
		"LLaVA-NeXT":      {template("llava-next-mistral.jinja", "<image>"), nil, map[string]string{"image_token": "<image>"}, ""},
		"LLaVA-OneVision": {template("llava-onevision.jinja", "<image>"), nil, map[string]string{"image_token": "<image>"}, ""},
		"InternVL 3":      {template("internvl-3.jinja", "<IMG_CONTEXT>"), nil, map[string]string{"image_token": "<IMG_CONTEXT>"}, ""},
		"Pixtral": {template("pixtral.jinja", "[IMG]"), nil, map[string]string{
			"content_format": "mixed", "image_token": "[IMG]", "tools": "",
		}, ""},
		"SmolVLM": {template("smolvlm.jinja", "<image>"), nil, map[string]string{"content_format": "parts"}, ""},
		"a text model": {qwen, func(f chatFolder, _ *Options) {
			delete(f["config.json"].(jsonObject), "vision_config")
			delete(f, "preprocessor_config.json")
		}, map[string]string{"max_images": "0", "image_token": ""}, "served for texts only"},
		"flags": {qwen, func(_ chatFolder, o *Options) {
			o.MaxLength, o.MaxImages, o.EnginePath, o.TensorParallel = 4096, new(1), "/models/weights/qwen", 2
		}, map[string]string{"max_model_len": "4096", "max_images": "1"}, "from /models/weights/qwen"},
		"vision switched off": {qwen, func(_ chatFolder, o *Options) { o.MaxImages = new(0) },
			map[string]string{"max_images": "0"}, ""},
		"greedy": {qwen, func(f chatFolder, _ *Options) { f.set("generation_config.json", "do_sample", false) },
			map[string]string{"default_sampling": `{"temperature":0,"repetition_penalty":1.05}`}, ""},
		"no generation configuration": {qwen, func(f chatFolder, _ *Options) { delete(f, "generation_config.json") },
			map[string]string{"default_sampling": ""}, ""},
		"chat_template.jinja comes first": {gemma, func(f chatFolder, _ *Options) {
			f["chat_template.jinja"] = "{% for m in messages %}{% for p in m.content %}" +
				"{{ p.text if p.type == 'text' else '<end_of_image>' }}{% endfor %}{% endfor %}"
		}, map[string]string{"image_token": "<end_of_image>"}, ""},
		"a list of templates": {qwen, func(f chatFolder, _ *Options) {
			text := f["tokenizer_config.json"].(jsonObject)["chat_template"]
			f.set("tokenizer_config.json", "chat_template", []any{
				jsonObject{"name": "tool_use", "template": "{{ nothing"}, jsonObject{"name": "default", "template": text},
			})
		}, map[string]string{"content_format": "parts"}, ""},
		"quantized": {qwen, func(f chatFolder, _ *Options) {
			f.set("config.json", "quantization_config", jsonObject{"quant_method": "awq", "bits": 4})
		}, nil, `quantization_config "awq" is left to the engine`},
		"shorter tokenizer": {qwen, func(f chatFolder, _ *Options) {
			f.set("tokenizer_config.json", "model_max_length", 32768)
		}, map[string]string{"max_model_len": "32768"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			folder := c.folder(t)
			var o Options
			if c.change != nil {
				c.change(folder, &o)
			}
			result, _, err := importChatFolder(t, folder.write(t), func(other *Options) {
				other.MaxLength, other.ChatOptions = o.MaxLength, o.ChatOptions
			})
			if err != nil {
				t.Fatal(err)
			}
			got := values(result)
			for key, want := range c.want {
				if got[key] != want {
					t.Errorf("%s is %q, want %q", key, got[key], want)
				}
			}
			if notes := strings.Join(result.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("notes %q lack %q", notes, c.note)
			}
		})
	}
}

// toolTemplates are templates of text models by the format of calls. They have the idioms of those of Hermes 3,
// Llama 3.1 and Mistral 7B v0.3 (https://huggingface.co/docs/transformers/chat_extras).
var toolTemplates = map[string]string{
	"hermes": `{% if tools %}{{ '<|im_start|>system\n<tools>' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '</tools> For each call return <tool_call>' }}
{"name": <function-name>, "arguments": <args-dict>}
</tool_call><|im_end|>
{% endif %}{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}{% if m.tool_calls %}{% for c in m.tool_calls %}
{{ '<tool_call>\n{"name": "' + c.function.name + '", "arguments": ' }}{{ c.function.arguments | tojson }}{{ '}\n</tool_call>' }}
{% endfor %}{% else %}{{ m.content }}{% endif %}{{ '<|im_end|>\n' }}{% endfor %}`,
	"llama3_json": `{% set ns = namespace(first=true) %}{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' }}
{%- if m.role == 'user' and tools and ns.first %}{% set ns.first = false %}
{{- 'Respond in the format {"name": function name, "parameters": dictionary of argument name and its value}.\n\n' }}
{%- for t in tools %}{{ t | tojson(indent=4) }}{{ '\n\n' }}{% endfor %}{% endif %}
{%- if 'tool_calls' in m %}{% if m.tool_calls | length != 1 %}
{{- raise_exception('This model only supports single tool-calls at once!') }}{% endif %}
{%- set c = m.tool_calls[0].function %}{{ '{"name": "' + c.name + '", "parameters": ' }}{{ c.arguments | tojson }}{{ '}' }}
{%- else %}{{ m.content | trim }}{% endif %}{{ '<|eot_id|>' }}{% endfor %}`,
	"mistral": `{% for m in messages %}{% if m.role == 'user' %}{% if tools %}{{ '[AVAILABLE_TOOLS] ' + (tools | tojson) + '[/AVAILABLE_TOOLS]' }}
{%- endif %}{{ '[INST] ' + m.content + '[/INST]' }}{% elif m.tool_calls %}
{{- '[TOOL_CALLS] [' }}{% for c in m.tool_calls %}
{%- if c.id | length != 9 %}
{{- raise_exception('Tool call IDs should be alphanumeric strings with length 9!') }}{% endif %}
{{- c.function | tojson | replace('}}', '}') }}{{ ', "id": "' + c.id + '"}' }}{% endfor %}{{ ']' + eos_token }}
{%- elif m.role == 'tool' %}{{ '[TOOL_RESULTS] {"content": ' + (m.content | tojson) + ', "call_id": "' + m.tool_call_id + '"}[/TOOL_RESULTS]' }}
{%- else %}{{ m.content }}{% endif %}{% endfor %}`,
	"": `{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}
{{ '<tool_call>\n<function=' + c.function.name + '>\n</function>\n</tool_call>' }}{% endfor %}{% endfor %}`,
}

// TestToolFormat checks that the import finds the format in which a template writes calls.
func TestToolFormat(t *testing.T) {
	for want, template := range toolTemplates {
		folder := newQwen(t).set("tokenizer_config.json", "chat_template", template)
		delete(folder["config.json"].(jsonObject), "vision_config")
		delete(folder, "preprocessor_config.json")
		result, _, err := importChatFolder(t, folder.write(t), nil)
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if got := values(result)["tools"]; got != want {
			t.Errorf("tools %q, want %q", got, want)
		}
	}
}

// Arguments that only some models need.
func TestEngineArguments(t *testing.T) {
	folder := newQwen(t).set("config.json", "auto_map", jsonObject{"AutoConfig": "configuration_x.X"})
	_, entry, err := importChatFolder(t, folder.write(t), func(o *Options) {
		o.EnginePath, o.TensorParallel, o.TrustRemoteCode, o.MaxImages = "/models/q", 2, true, new(1)
	})
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal([]byte(readEntryFile(t, entry, "1/model.json")), &got); err != nil {
		t.Fatal(err)
	}
	want := jsonObject{
		"model": "/models/q", "max_model_len": 128000.0, "tensor_parallel_size": 2.0, "trust_remote_code": true,
		"limit_mm_per_prompt": jsonObject{"image": 1.0, "video": 0.0},
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("model.json (-want +got):\n%s", diff)
	}
}

// TestChatTokenizer imports a folder with a tokenizer that the gateway can read, which is copied, and one with another,
// which is not.
func TestChatTokenizer(t *testing.T) {
	zipped, err := os.Open("../../tokenizers/testdata/bpe-qwen2/tokenizer.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer zipped.Close()
	unzipped, err := gzip.NewReader(zipped)
	if err != nil {
		t.Fatal(err)
	}
	tokenizer, err := io.ReadAll(unzipped)
	if err != nil {
		t.Fatal(err)
	}
	folder := newQwen(t)
	for _, test := range []struct {
		file   any
		copied bool
	}{{folder["tokenizer.json"], false}, {string(tokenizer), true}} {
		folder["tokenizer.json"] = test.file
		folder.set("tokenizer_config.json", "added_tokens_decoder", jsonObject{"6": specialToken(6, "<|image_pad|>")})
		_, entry, err := importChatFolder(t, folder.write(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		copied, err := os.ReadFile(filepath.Join(entry, "tokenizer.json"))
		if test.copied && !bytes.Equal(copied, tokenizer) || !test.copied && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("copied: %d bytes, %v, want %t", len(copied), err, test.copied)
		}
	}
}
