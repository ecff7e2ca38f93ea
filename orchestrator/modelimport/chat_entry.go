package modelimport

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/chat/engine"
	"retort/tokenizers"
)

// chatEntry is a new entry for a published chat model: config.pbtxt, 1/model.json, chat_template.jinja,
// tokenizer_config.json, CARD.md and, if the gateway can read it, tokenizer.json.
type chatEntry struct {
	name    string
	model   *chatModel
	options Options
}

func (e *chatEntry) write(dir string) error {
	tokens, err := e.tokenizerConfig()
	if err != nil {
		return err
	}
	arguments, err := e.engineArguments()
	if err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(dir, "1"), 0o755); err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		"1/model.json": arguments, "chat_template.jinja": []byte(e.model.template.text),
		"tokenizer_config.json": tokens, "config.pbtxt": e.config(), "CARD.md": e.card(),
	} {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), text, 0o644); err != nil {
			return err
		}
	}
	return e.copyTokenizer(filepath.Join(dir, "tokenizer.json"))
}

// copyTokenizer copies the folder's tokenizer.json, unless there is none that package tokenizers supports: the model is
// served without it, but not its endpoints for tokens.
func (e *chatEntry) copyTokenizer(to string) error {
	if !e.model.folder.has("tokenizer.json") {
		return nil
	}
	data, err := e.model.folder.read("tokenizer.json")
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o644); err != nil {
		return err
	}
	if _, err := tokenizers.Load(to); err != nil {
		return os.Remove(to)
	}
	return nil
}

// check reads the entry as the gateway will.
func (e *chatEntry) check(dir string) error {
	model, err := readConfig(dir, e.name, e.parameters())
	if err != nil || e.options.Open == nil {
		return err
	}
	return e.options.Open(model)
}

// engineArguments returns model.json: arguments of vLLM's AsyncEngineArgs.
func (e *chatEntry) engineArguments() ([]byte, error) {
	m := e.model
	arguments := struct {
		Model           string         `json:"model"`
		MaxLength       int            `json:"max_model_len"`
		TensorParallel  int            `json:"tensor_parallel_size,omitzero"`
		TrustRemoteCode bool           `json:"trust_remote_code,omitzero"`
		Limits          map[string]int `json:"limit_mm_per_prompt,omitempty"`
	}{m.enginePath, m.length, e.options.TensorParallel, m.remoteCode, nil}
	if m.config.hasVision() {
		arguments.Limits = map[string]int{"image": m.images, "video": 0} // the APIs have no videos
	}
	text, err := json.Marshal(arguments, jsontext.WithIndent("  "), json.Deterministic(true))
	return append(text, '\n'), err
}

// tokenizerConfig returns a tokenizer_config.json with the special tokens only, which the gateway reads.
func (e *chatEntry) tokenizerConfig() ([]byte, error) {
	type token struct {
		Content string `json:"content"`
		Special bool   `json:"special"`
	}
	config := map[string]any{}
	for name, text := range e.model.tokens.named {
		config[name] = text
	}
	decoder := map[int]token{}
	for id, text := range e.model.tokens.special {
		decoder[id] = token{Content: text, Special: true}
	}
	config["added_tokens_decoder"] = decoder
	text, err := json.Marshal(config, jsontext.WithIndent(" "), json.Deterministic(true))
	return append(text, '\n'), err
}

// parameters returns what the gateway needs to know, see orchestrator/chat/doc.go.
func (e *chatEntry) parameters() []Parameter {
	m, o := e.model, e.options
	list := []Parameter{
		{"retort_api", apiChat},
		{"model_id", o.ID},
		{"owned_by", o.owner()},
		{"created", strconv.FormatInt(o.Now.Unix(), 10)},
		{"max_model_len", strconv.Itoa(m.length)},
		{"max_images", strconv.Itoa(m.images)},
		{"content_format", m.template.format},
		{"image_first", strconv.FormatBool(m.template.imageFirst())},
		{"strip_bos", strconv.FormatBool(m.tokens.addsBOS)},
	}
	if m.template.tools.HasCalls() {
		list = append(list, Parameter{"tools", string(m.template.tools)})
	}
	if m.template.placeholder != "" {
		list = append(list, Parameter{"image_placeholder", m.template.placeholder})
	}
	if start, _, numbered := strings.Cut(m.template.placeholder, "{n}"); numbered {
		text, _ := json.Marshal([]string{start}) // cannot fail
		list = append(list, Parameter{"special_tokens", string(text)})
	}
	if m.template.marker != "" {
		list = append(list, Parameter{"image_token", m.template.marker})
	}
	if m.generation.Defaults != (engine.Defaults{}) {
		text, _ := json.Marshal(m.generation.Defaults) // cannot fail
		list = append(list, Parameter{"default_sampling", string(text)})
	}
	if n := m.generation.MaxNewTokens; n != nil && *n < m.length {
		list = append(list, Parameter{"default_max_tokens", strconv.Itoa(*n)})
	}
	return list
}

// vllmTensors are the tensors of Triton's vLLM backend (https://github.com/triton-inference-server/vllm_backend,
// src/model.py), which adds those that are missing here.
const vllmTensors = `
input [
  { name: "text_input"               data_type: TYPE_STRING  dims: [ 1 ] },
  { name: "image"                    data_type: TYPE_STRING  dims: [ -1 ]  optional: true },
  { name: "stream"                   data_type: TYPE_BOOL    dims: [ 1 ]   optional: true },
  { name: "sampling_parameters"      data_type: TYPE_STRING  dims: [ 1 ]   optional: true },
  { name: "exclude_input_in_output"  data_type: TYPE_BOOL    dims: [ 1 ]   optional: true },
  { name: "return_finish_reason"     data_type: TYPE_BOOL    dims: [ 1 ]   optional: true },
  { name: "return_logprobs"          data_type: TYPE_BOOL    dims: [ 1 ]   optional: true },
  { name: "return_num_input_tokens"  data_type: TYPE_BOOL    dims: [ 1 ]   optional: true },
  { name: "return_num_output_tokens" data_type: TYPE_BOOL    dims: [ 1 ]   optional: true }
]
output [
  { name: "text_output"        data_type: TYPE_STRING  dims: [ -1 ] },
  { name: "finish_reason"      data_type: TYPE_STRING  dims: [ -1 ] },
  { name: "logprobs"           data_type: TYPE_STRING  dims: [ -1 ] },
  { name: "num_input_tokens"   data_type: TYPE_UINT32  dims: [ 1 ] },
  { name: "num_output_tokens"  data_type: TYPE_UINT32  dims: [ -1 ] }
]

# The engine itself chooses its devices.
instance_group [ { count: 1  kind: KIND_MODEL } ]

`

// config returns the text of config.pbtxt.
func (e *chatEntry) config() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Made by retort model import. Arguments of the engine: 1/model.json; weights: CARD.md.\n")
	fmt.Fprintf(&b, "name: %q\nbackend: \"vllm\"\nmax_batch_size: 0\n", e.name)
	b.WriteString("model_transaction_policy { decoupled: true }\n" + vllmTensors)
	for _, p := range e.parameters() {
		fmt.Fprintf(&b, "parameters { key: %-18q value { string_value: %q } }\n", p.Key, p.Value)
	}
	return b.Bytes()
}

// card returns the text of CARD.md, for the operator to complete.
func (e *chatEntry) card() []byte {
	m, o := e.model, e.options
	sees := "texts and images"
	if m.images == 0 {
		sees = "texts"
	}
	calls := "no known format: tools that the model need not call are refused"
	if m.template.tools.HasCalls() {
		calls = "format " + string(m.template.tools)
	}
	rows := [][2]string{
		{"made by", "`retort model import`, " + o.Now.UTC().Format(time.DateOnly)},
		{"source", fmt.Sprintf("folder `%s`, `config.json` with sha256 `%s`", m.folder.name(), m.configSHA256)},
		{"licence", cmp.Or(m.folder.licence(), "not stated in the folder: fill in")},
		{"architecture", strings.Join(append([]string{m.config.ModelType}, m.config.Architectures...), ", ")},
		{"weights", fmt.Sprintf("not in this entry: `%s`, as Triton sees it", m.enginePath)},
		{"quantization", cmp.Or(m.config.quantization(), "none stated")},
		{"chat template", "`" + m.template.file + "`"},
		{"calls of tools", calls},
		{"longest text", fmt.Sprintf("%d tokens, prompt and answer together", m.length)},
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\nChat about %s. Public id `%s`.\n\n## Model details\n\n| | |\n|---|---|\n", e.name, sees, o.ID)
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", row[0], row[1])
	}
	b.WriteString("\n## Evaluation\n\nNot measured here.\n\n## Limits\n\nSee the model's own card.\n")
	return b.Bytes()
}
