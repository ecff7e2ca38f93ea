package modelimport

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// maxSpecialTokens bounds the special tokens of a model: Gemma 3 has 6,415.
const maxSpecialTokens = 1 << 16

// namedTokens are the special tokens that chat templates name.
var namedTokens = []string{"bos_token", "eos_token", "unk_token", "pad_token", "image_token"}

// imageTokenKeys are the keys of config.json with the id of the token that stands for an image in a prompt.
var imageTokenKeys = []string{"image_token_id", "image_token_index", "boi_token_id", "boi_token_index"}

// chatTokens are the special tokens of a chat model.
type chatTokens struct {
	named     map[string]string // by name, see namedTokens
	special   map[int]string    // by id
	images    []string          // that may stand for an image in a prompt, likeliest first
	addsBOS   bool              // the tokenizer puts bos_token before every text
	maxLength float64           // model_max_length of tokenizer_config.json, a huge number for none
}

// addedToken is a token of tokenizer.json's added_tokens or tokenizer_config.json's added_tokens_decoder.
type addedToken struct {
	ID      int    `json:"id"`
	Content string `json:"content"`
	Special bool   `json:"special"`
}

// readTokens reads tokenizer_config.json, special_tokens_map.json, processor_config.json and tokenizer.json.
func (m *chatModel) readTokens(Options) error {
	t := &m.tokens
	t.named, t.special = map[string]string{}, map[int]string{}
	var config struct {
		Decoder   map[string]addedToken `json:"added_tokens_decoder"`
		AddBOS    *bool                 `json:"add_bos_token"`
		MaxLength float64               `json:"model_max_length"`
	}
	var file struct {
		Added         []addedToken  `json:"added_tokens"`
		PostProcessor postProcessor `json:"post_processor"`
	}
	hasConfig, err := m.folder.readJSON("tokenizer_config.json", &config)
	if err != nil {
		return err
	}
	hasFile, err := m.folder.readJSON("tokenizer.json", &file)
	if err != nil {
		return err
	}
	if !hasConfig && !hasFile {
		return fmt.Errorf("%s has no tokenizer.json and no tokenizer_config.json", m.folder.dir)
	}
	t.maxLength = config.MaxLength
	for id, token := range config.Decoder {
		if token.ID, err = strconv.Atoi(id); err != nil {
			return fmt.Errorf("tokenizer_config.json: added_tokens_decoder: id %q is not an integer", id)
		}
		file.Added = append(file.Added, token)
	}
	byID := map[int]string{}
	for _, token := range file.Added {
		byID[token.ID] = token.Content
		if token.Special && token.Content != "" {
			t.special[token.ID] = token.Content
		}
	}
	if len(t.special) > maxSpecialTokens {
		return fmt.Errorf("tokenizer.json: added_tokens has %d special tokens, more than %d", len(t.special), maxSpecialTokens)
	}
	if err := m.readNamedTokens(); err != nil {
		return err
	}
	t.addsBOS = file.PostProcessor.startsWith(t.named["bos_token"])
	if config.AddBOS != nil {
		t.addsBOS = *config.AddBOS
	}
	return m.readImageTokens(byID)
}

// readNamedTokens reads the tokens that chat templates name. tokenizer_config.json takes precedence.
func (m *chatModel) readNamedTokens() error {
	for _, name := range []string{"tokenizer_config.json", "special_tokens_map.json", "processor_config.json"} {
		var config, extra map[string]json.RawMessage
		if _, err := m.folder.readJSON(name, &config); err != nil {
			return err
		}
		_ = json.Unmarshal(config["extra_special_tokens"], &extra) // a list in some versions of transformers
		for _, token := range namedTokens {
			raw := config[token]
			if raw == nil {
				raw = extra[token]
			}
			text, err := tokenText(raw)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", name, token, err)
			}
			if m.tokens.named[token] == "" && text != "" {
				m.tokens.named[token] = text
			}
		}
	}
	return nil
}

// tokenText decodes a token: "</s>", {"content": "</s>", …}, or null for none.
func tokenText(raw json.RawMessage) (text string, err error) {
	if raw == nil || string(raw) == "null" || json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var token struct {
		Content *string `json:"content"`
	}
	if json.Unmarshal(raw, &token) != nil || token.Content == nil {
		return "", errors.New("it is neither a text nor an object with content")
	}
	return *token.Content, nil
}

// readImageTokens lists the tokens that may stand for an image: those that the files name, then all special tokens.
func (m *chatModel) readImageTokens(byID map[int]string) error {
	t := &m.tokens
	for _, key := range imageTokenKeys {
		id, ok, err := m.config.number(key)
		if err != nil {
			return err
		}
		if text := byID[id]; ok && text != "" {
			t.images = append(t.images, text)
		}
	}
	if text := t.named["image_token"]; text != "" {
		t.images = append(t.images, text)
	}
	for _, id := range slices.Sorted(maps.Keys(t.special)) {
		t.images = append(t.images, t.special[id])
	}
	return nil
}

// postProcessor is the post_processor of tokenizer.json: a template, or a sequence of processors.
type postProcessor struct {
	Type       string          `json:"type"`
	Processors []postProcessor `json:"processors"`
	Single     []struct {
		Special *struct {
			ID string `json:"id"`
		} `json:"SpecialToken"`
	} `json:"single"`
}

// startsWith reports whether the processor puts a special token before a text.
func (p postProcessor) startsWith(token string) bool {
	if token == "" {
		return false
	}
	if p.Type == "TemplateProcessing" {
		return len(p.Single) > 0 && p.Single[0].Special != nil && p.Single[0].Special.ID == token
	}
	return slices.ContainsFunc(p.Processors, func(q postProcessor) bool { return q.startsWith(token) })
}
