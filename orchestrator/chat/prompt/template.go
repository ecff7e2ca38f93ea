package prompt

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ncruces/go-strftime"

	"retort/tokenizers/template"
)

// Options configure the template of a model.
type Options struct {
	// ContentFormat is the type of content that the template expects: "text", one string with placeholders for images;
	// "parts", a list of {"type": "text" | "image", …}; "mixed", a list for a message with an image, else a string.
	// "auto" and "" derive it from the template's text.
	ContentFormat string
	// Placeholder stands for an image in content of format text. {n} in it is replaced by the number of the image in
	// the conversation, counted from 1.
	Placeholder string
	// SpecialTokens are broken up in the texts of messages.
	SpecialTokens []string
	// Variables are passed to the template, such as bos_token.
	Variables map[string]string
	// StripBOS removes bos_token from the start of the prompt, for engines that add it themselves.
	StripBOS bool
	// ImageFirst moves the images of a message before its text.
	ImageFirst bool
	// Now is the clock of strftime_now; nil means time.Now.
	Now func() time.Time
}

// Template is a chat template. It is safe for concurrent use.
type Template struct {
	parsed  *template.Template
	options Options
	escaper *escaper
}

// Parse compiles the text of a chat_template.jinja.
func Parse(source string, o Options) (*Template, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ContentFormat == "" || o.ContentFormat == "auto" {
		o.ContentFormat = contentFormatOf(source)
	}
	parsed, err := template.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	return &Template{parsed: parsed, options: o, escaper: newEscaper(o.SpecialTokens)}, nil
}

// StripsBOS reports whether bos_token is removed from the start of prompts, because the engine adds it.
func (t *Template) StripsBOS() bool {
	return t.options.StripBOS && t.options.Variables["bos_token"] != ""
}

// Render returns the prompt for a conversation with tools. With generate, it ends where the assistant's answer starts.
// The error is a *Refusal if the template rejects the conversation.
func (t *Template) Render(messages []Message, generate bool, tools ...Tool) (string, error) {
	list := make([]any, len(messages))
	images := 0
	for i, m := range messages {
		members := []any{"role", m.Role, "content", t.content(t.prepare(m.Parts), &images)}
		if len(m.Calls) > 0 {
			members = append(members, "tool_calls", t.calls(m.Calls))
		}
		if m.Role == "tool" {
			members = append(members, "tool_call_id", t.escapeText(m.Of.ID), "name", t.escapeText(m.Of.Name))
		}
		list[i] = template.NewDict(members...)
	}
	return t.render(list, generate, t.tools(tools))
}

// maxSuffix is the maximum number of bytes that a template may write after the final message. The same text further
// ahead belongs to another message.
const maxSuffix = 4 << 10

// Continue returns the prompt for a conversation whose last message the model continues.
func (t *Template) Continue(messages []Message, tools ...Tool) (string, error) {
	if len(messages) == 0 || len(messages[len(messages)-1].Parts) == 0 || len(messages[len(messages)-1].Calls) > 0 {
		return "", &Refusal{Message: "there is no final message to continue"}
	}
	prompt, err := t.Render(messages, false, tools...)
	if err != nil {
		return "", err
	}
	last := t.prepare(messages[len(messages)-1].Parts)
	text := strings.TrimSpace(last[len(last)-1].Text)
	tail := max(0, len(prompt)-len(text)-maxSuffix)
	at := strings.LastIndex(prompt[tail:], text)
	if text == "" || at < 0 {
		return "", &Refusal{Message: "the final message does not appear in the prompt, so it cannot be continued"}
	}
	return prompt[:tail+at+len(text)], nil
}

func (t *Template) render(messages []any, generate bool, tools any) (string, error) {
	variables := map[string]any{
		"messages": messages, "add_generation_prompt": generate, "tools": tools, "documents": nil,
		"strftime_now": func(format string) string { return strftime.Format(format, t.options.Now()) },
	}
	for name, value := range t.options.Variables {
		variables[name] = value
	}
	prompt, err := t.parsed.Render(variables)
	var failed *template.Error
	switch {
	case errors.As(err, &failed) && failed.Raised:
		return "", &Refusal{Message: failed.Message}
	case err != nil:
		return "", fmt.Errorf("chat template: %w", err)
	}
	if t.StripsBOS() {
		prompt = strings.TrimPrefix(prompt, t.options.Variables["bos_token"])
	}
	return prompt, nil
}

// Refusal is the error of a template that rejects a conversation: the message it passed to raise_exception.
type Refusal struct{ Message string }

func (r *Refusal) Error() string { return r.Message }
