package prompt

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"retort/tokenizers/template"
)

// Options are what a model says of its template.
type Options struct {
	Form Form
	// Placeholder stands for an image in content of form Text; {n} in it is the image's number in the conversation,
	// from 1.
	Placeholder string
	// Marks are broken up where a message contains them.
	Marks []string
	// Variables are further names the template may use: bos_token, eos_token.
	Variables map[string]string
	// StripBOS takes bos_token off the front, for engines that add it themselves.
	StripBOS bool
	// ImageFirst moves the images of a message before its text.
	ImageFirst bool
	// Now is the clock for strftime_now; nil is time.Now.
	Now func() time.Time
}

// Template is a chat template, safe for use by many goroutines.
type Template struct {
	parsed  *template.Template
	options Options
	breaker *breaker
}

// Parse compiles the text of a chat_template.template.
func Parse(source string, o Options) (*Template, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	switch o.Form {
	case Auto, "":
		o.Form = formOf(source)
	case Text, Parts, Mixed:
	default:
		return nil, fmt.Errorf("content form %q is none of auto, text, parts, mixed", o.Form)
	}
	if o.Form == Text && o.Placeholder == "" {
		o.Placeholder = "<image>"
	}
	parsed, err := template.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	return &Template{parsed: parsed, options: o, breaker: newBreaker(o.Marks)}, nil
}

// Render returns the prompt for a conversation. With generate it ends where the assistant's answer begins. The error is
// a *Refusal when the template does not take the conversation.
func (t *Template) Render(messages []Message, generate bool) (string, error) {
	list := make([]any, len(messages))
	images := 0
	for i, m := range messages {
		parts := t.breaker.parts(t.ordered(m.Parts))
		list[i] = template.NewDict("role", m.Role, "content", t.content(parts, &images))
	}
	return t.render(list, generate)
}

// longestEnd is how many bytes a template may write after the final message. Farther from the end the same text is another message's.
const longestEnd = 4 << 10

// Continue returns the prompt for a conversation whose last message the model is to go on with.
func (t *Template) Continue(messages []Message) (string, error) {
	if len(messages) == 0 || len(messages[len(messages)-1].Parts) == 0 {
		return "", &Refusal{Message: "there is no final message to continue"}
	}
	prompt, err := t.Render(messages, false)
	if err != nil {
		return "", err
	}
	last := t.breaker.parts(t.ordered(messages[len(messages)-1].Parts))
	text := strings.TrimSpace(last[len(last)-1].Text)
	tail := max(0, len(prompt)-len(text)-longestEnd)
	at := strings.LastIndex(prompt[tail:], text)
	if text == "" || at < 0 {
		return "", &Refusal{Message: "the final message does not appear in the prompt, so it cannot be continued"}
	}
	return prompt[:tail+at+len(text)], nil
}

func (t *Template) render(messages []any, generate bool) (string, error) {
	variables := map[string]any{
		"messages": messages, "add_generation_prompt": generate, "tools": nil, "documents": nil,
		"strftime_now": func(format string) string { return strftime(t.options.Now(), format) },
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
	if bos := t.options.Variables["bos_token"]; t.options.StripBOS && bos != "" {
		prompt = strings.TrimPrefix(prompt, bos)
	}
	return prompt, nil
}

// Refusal is a conversation that the template does not take: it has called raise_exception, with this message.
type Refusal struct{ Message string }

func (r *Refusal) Error() string { return r.Message }
