package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"

	"retort/orchestrator/chat/prompt"
	"retort/orchestrator/triton"
)

// readTemplate reads a model's chat template and its options. It returns nil if the engine applies the template.
func readTemplate(r *triton.EntryReader) *prompt.Template {
	tokens := readSpecialTokens(r)
	options := prompt.Options{
		ContentFormat: r.OneOf("content_format", "auto", "text", "parts", "mixed"),
		Placeholder:   r.Text("image_placeholder", "<image>"),
		SpecialTokens: tokens.all,
		Variables:     tokens.named,
		StripBOS:      r.OneOf("strip_bos", "false", "true") == "true",
		ImageFirst:    r.OneOf("image_first", "true", "false") == "true",
	}
	const parameter, defaultFile = "chat_template", "chat_template.jinja"
	if r.Text(parameter, defaultFile) == "server" {
		return nil
	}
	return triton.ReadFile(r, parameter, defaultFile, func(path string) (*prompt.Template, error) {
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		return prompt.Parse(string(source), options)
	})
}

// specialTokens are the strings that a model's tokenizer encodes as one token each.
type specialTokens struct {
	named map[string]string // variables of the template, such as bos_token
	all   []string          // escaped in messages
}

// readSpecialTokens reads the parameters bos_token, eos_token, unk_token, pad_token, image_token and special_tokens (a
// JSON list), and the files tokenizer.json and tokenizer_config.json beside the configuration, if they exist. Either
// file lists special tokens.
func readSpecialTokens(r *triton.EntryReader) specialTokens {
	t := specialTokens{named: map[string]string{}}
	type addedToken struct {
		Content string
		Special bool
	}
	var file struct {
		Added []addedToken `json:"added_tokens"`
	}
	var config map[string]json.RawMessage
	r.ReadJSON("tokenizer.json", &file)
	r.ReadJSON("tokenizer_config.json", &config)
	var byID map[string]addedToken
	if raw := config["added_tokens_decoder"]; raw != nil {
		if err := json.Unmarshal(raw, &byID); err != nil {
			r.Check(fmt.Errorf("tokenizer_config.json: added_tokens_decoder: %w", err))
		}
	}
	for _, added := range slices.AppendSeq(file.Added, maps.Values(byID)) {
		if added.Special {
			t.all = append(t.all, added.Content)
		}
	}
	for _, name := range []string{"bos_token", "eos_token", "unk_token", "pad_token", "image_token"} {
		inFile, err := readToken(config[name])
		if err != nil {
			r.Check(fmt.Errorf("tokenizer_config.json: %s: %w", name, err))
		}
		if token := r.Text(name, inFile); token != "" {
			t.named[name] = token
			t.all = append(t.all, token)
		}
	}
	t.all = append(t.all, r.List("special_tokens")...)
	return t
}

// readToken decodes a token of tokenizer_config.json: "</s>" or {"content": "</s>", …}. A token that is null or missing
// is "".
func readToken(raw json.RawMessage) (text string, err error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] == '"' {
		err = json.Unmarshal(raw, &text)
		return text, err
	}
	var token struct{ Content string }
	err = json.Unmarshal(raw, &token)
	return token.Content, err
}
