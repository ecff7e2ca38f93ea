package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"retort/orchestrator/chat/prompt"
	"retort/orchestrator/chat/vision"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// Model is a chat model with what its entry in the model repository says of
// it. The parameters of its config.pbtxt are read in Open and in options;
// model_repository/README.md lists them.
type Model struct {
	ID, OwnedBy string
	Created     int64 // Unix time in seconds
	MaxLength   int   // tokens of prompt and answer together
	MaxImages   int   // in one conversation
	ImageTokens int   // tokens that one image takes of MaxLength
	Answer      int   // most tokens of an answer when none is asked for; 0 is all that fit
	Clamp       bool  // an answer too long to fit is shortened, not refused

	template  *prompt.Template // nil when the server applies its own
	mark      string           // stands for an image in the prompt; "" is not checked
	tokenizer *tokenizers.Tokenizer
	generator Generator
	supports  func(*Sampling) error
}

// Opener returns what opens an entry of the model repository.
func Opener(client *triton.Client, images *vision.Loader) func(*triton.Model) (*Model, error) {
	return func(entry *triton.Model) (*Model, error) { return open(client, images, entry) }
}

func open(client *triton.Client, images *vision.Loader, entry *triton.Model) (*Model, error) {
	r := reader{entry: entry}
	m := &Model{
		ID: entry.PublicID(), OwnedBy: entry.Parameter("owned_by", "retort"),
		Created:     int64(r.whole("created", 0, 0)),
		MaxLength:   r.whole("max_model_len", 4096, 2),
		MaxImages:   r.whole("max_images", 1, 0),
		ImageTokens: r.whole("image_tokens", 0, 0),
		Answer:      r.whole("default_max_tokens", 0, 0),
		Clamp:       r.choice("completion_overflow", "refuse", "clamp") == "clamp",
		mark:        entry.Parameter("image_token", ""),
	}
	if name := entry.Parameter("chat_template", "chat_template.jinja"); name != "server" {
		m.template = r.template(name)
	}
	if name := entry.Parameter("tokenizer", ""); name != "" {
		m.tokenizer = r.tokenizer(name)
	}
	m.generator, m.supports = r.contract(client, images)
	return m, errors.Join(r.errs...)
}

// reader reads parameters and files of an entry and collects what is wrong.
type reader struct {
	entry *triton.Model
	errs  []error
}

func (r *reader) check(err error) {
	if err != nil {
		r.errs = append(r.errs, err)
	}
}

func (r *reader) whole(name string, otherwise, least int) int {
	n, err := strconv.Atoi(r.entry.Parameter(name, strconv.Itoa(otherwise)))
	if err != nil || n < least {
		r.check(fmt.Errorf("parameter %s must be a whole number of at least %d, not %q", name, least, r.entry.Parameter(name, "")))
	}
	return n
}

// choice is a parameter with fixed values, of which the first is the default.
func (r *reader) choice(name string, values ...string) string {
	value := r.entry.Parameter(name, values[0])
	if !slices.Contains(values, value) {
		r.check(fmt.Errorf("parameter %s is %q and not one of %s", name, value, strings.Join(values, ", ")))
	}
	return value
}

func (r *reader) read(name string) []byte {
	path, err := r.entry.File(name)
	if err != nil {
		r.check(err)
		return nil
	}
	data, err := os.ReadFile(path)
	r.check(err)
	return data
}

func (r *reader) tokenizer(name string) *tokenizers.Tokenizer {
	path, err := r.entry.File(name)
	if err != nil {
		r.check(err)
		return nil
	}
	t, err := tokenizers.Load(path)
	r.check(err)
	return t
}

// template reads the chat template and what belongs to it.
func (r *reader) template(name string) *prompt.Template {
	source := r.read(name)
	tokens := r.specialTokens()
	t, err := prompt.Parse(string(source), prompt.Options{
		Form:        prompt.Form(r.choice("content_format", "auto", "text", "parts", "mixed")),
		Placeholder: r.entry.Parameter("image_placeholder", "<image>"),
		Marks:       tokens.marks,
		Variables:   tokens.named,
		StripBOS:    r.choice("strip_bos", "false", "true") == "true",
		ImageFirst:  r.choice("image_first", "true", "false") == "true",
	})
	r.check(err)
	return t
}

// specialTokens are the strings that a model's tokenizer reads as one token
// each: those a template names, and all that a message must not bring in.
type specialTokens struct {
	named map[string]string
	marks []string
}

// specialTokens reads them from the parameters bos_token, eos_token,
// image_token and special_tokens (a JSON list), and from tokenizer.json and
// tokenizer_config.json where these lie beside the configuration.
func (r *reader) specialTokens() specialTokens {
	t := specialTokens{named: map[string]string{}}
	var file struct {
		Added []struct {
			Content string
			Special bool
		} `json:"added_tokens"`
	}
	var config map[string]json.RawMessage
	r.optional("tokenizer.json", &file)
	r.optional("tokenizer_config.json", &config)
	for _, a := range file.Added {
		if a.Special {
			t.marks = append(t.marks, a.Content)
		}
	}
	for _, name := range []string{"bos_token", "eos_token", "unk_token", "pad_token", "image_token"} {
		token := r.entry.Parameter(name, tokenText(config[name]))
		if token != "" {
			t.named[name] = token
			t.marks = append(t.marks, token)
		}
	}
	var more []string
	if err := json.Unmarshal([]byte(r.entry.Parameter("special_tokens", "[]")), &more); err != nil {
		r.check(fmt.Errorf("parameter special_tokens is no JSON list of strings: %w", err))
	}
	t.marks = append(t.marks, more...)
	return t
}

// optional reads a JSON file that need not be there.
func (r *reader) optional(name string, into any) {
	path, err := r.entry.File(name)
	if err != nil {
		return
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		r.check(fmt.Errorf("%s: %w", name, err))
	}
}

// tokenText reads "</s>" or {"content": "</s>", …}.
func tokenText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var token struct{ Content string }
	_ = json.Unmarshal(raw, &token) // null, or absent: no such token
	return token.Content
}

// contract picks the adapter by the names of the model's inputs.
func (r *reader) contract(client *triton.Client, images *vision.Loader) (Generator, func(*Sampling) error) {
	e := engine{client: client, config: r.entry.Config}
	if list := r.entry.Parameter("sampling_parameters", ""); list != "" {
		e.takes = strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
	}
	switch {
	case e.has(vllmSampling):
		v := &vllm{e}
		if v.takes == nil && !v.has(vllmWantLogs) {
			v.takes = slices.DeleteFunc(slices.Clone(vllmSettings), func(name string) bool { return name == "logprobs" })
		}
		return v, v.engine.supports
	case e.has(llmapiNames.maxTokens):
		return r.tensorrt(e, llmapiNames, images)
	case e.has(ensembleNames.maxTokens) && e.has(tensorrtText):
		return r.tensorrt(e, ensembleNames, images)
	}
	r.check(fmt.Errorf("the inputs of model %s fit none of the contracts: vLLM's has %s, TensorRT-LLM's %s or %s",
		r.entry.Name, vllmSampling, ensembleNames.maxTokens, llmapiNames.maxTokens))
	return nil, nil
}

// vllmSettings are all settings, which the vLLM engine knows.
var vllmSettings = []string{
	"min_tokens", "temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty",
	"seed", "ignore_eos", "skip_special_tokens", "stop_token_ids", "logprobs",
}

func (r *reader) tensorrt(e engine, names tensorrtNames, images *vision.Loader) (Generator, func(*Sampling) error) {
	if e.takes == nil {
		e.takes = []string{}
		for setting, input := range names.settings {
			if e.has(input) {
				e.takes = append(e.takes, setting)
			}
		}
	}
	t := &tensorrt{engine: e, names: names, images: images, growing: r.choice("cumulative_text", "false", "true") == "true"}
	var err error
	t.width, t.height, err = imageSize(r.entry.Parameter("image_size", ""))
	r.check(err)
	return t, t.engine.supports
}
