package prompt

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"retort/tokenizers/template"
)

// Part is one piece of a message: an image, or else a text.
type Part struct {
	Image bool
	Text  string
}

// Message is one turn of a chat.
type Message struct {
	Role  string
	Parts []Part
}

// Form is how a template wants the content of a message.
type Form string

const (
	// Auto finds the form in the template's text.
	Auto Form = "auto"
	// Text is one string with placeholders in it.
	Text Form = "text"
	// Parts is always a list of {"type": "text" | "image", …}.
	Parts Form = "parts"
	// Mixed is a list where a message has an image, else a string.
	Mixed Form = "mixed"
)

// Options are what a model says of its template.
type Options struct {
	Form Form
	// Placeholder stands for an image in content of form Text; {n} in it is
	// the image's number in the conversation, from 1.
	Placeholder string
	// Marks are broken up where a message contains them.
	Marks []string
	// Variables are further names the template may use: bos_token, eos_token.
	Variables map[string]string
	// StripBOS takes bos_token off the front, for engines that add their own.
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

var iterated = regexp.MustCompile(`for\s+\w+\s+in\s+[^%]*content|content\s*(\[\s*['"]text|\|\s*selectattr)|content['"]?\]?\s*\[\s*0\s*\]`)

// formOf guesses the form from how the template uses content.
func formOf(source string) Form {
	switch {
	case !iterated.MatchString(source):
		return Text
	case regexp.MustCompile(`is\s+(not\s+)?string`).MatchString(source):
		return Mixed
	}
	return Parts
}

// Render returns the prompt for a conversation. With generate it ends where
// the assistant's answer begins. The error is a *Refusal when the template
// does not take the conversation.
func (t *Template) Render(messages []Message, generate bool) (string, error) {
	list, images := make([]any, len(messages)), 0
	for i, m := range messages {
		parts := t.breaker.parts(t.ordered(m.Parts))
		list[i] = template.NewDict("role", m.Role, "content", t.content(parts, &images))
	}
	return t.render(list, generate)
}

// Continue returns the prompt for a conversation whose last message the model
// is to go on with.
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
	at := strings.LastIndex(prompt, text)
	if text == "" || at < 0 {
		return "", &Refusal{Message: "the final message does not appear in the prompt, so it cannot be continued"}
	}
	return prompt[:at+len(text)], nil
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

// Refusal is a template's own "no" to a conversation (raise_exception), in
// the template's words.
type Refusal struct{ Message string }

func (r *Refusal) Error() string { return r.Message }

// ordered puts images first where the model wants it.
func (t *Template) ordered(parts []Part) []Part {
	if !t.options.ImageFirst {
		return parts
	}
	sorted := make([]Part, 0, len(parts))
	for _, images := range []bool{true, false} {
		for _, p := range parts {
			if p.Image == images {
				sorted = append(sorted, p)
			}
		}
	}
	return sorted
}

// content is what the template sees of one message; images counts those of
// the conversation so far.
func (t *Template) content(parts []Part, images *int) any {
	if t.options.Form == Text {
		return t.flat(parts, images)
	}
	list, hasImage := make([]any, len(parts)), false
	for i, p := range parts {
		if p.Image {
			hasImage = true
			list[i] = template.NewDict("type", "image")
		} else {
			list[i] = template.NewDict("type", "text", "text", p.Text)
		}
	}
	if t.options.Form == Mixed && !hasImage {
		return t.flat(parts, images)
	}
	return list
}

// flat writes one part a line, as vLLM does for templates that take text.
func (t *Template) flat(parts []Part, images *int) string {
	lines := make([]string, len(parts))
	for i, p := range parts {
		lines[i] = p.Text
		if p.Image {
			*images++
			lines[i] = strings.ReplaceAll(t.options.Placeholder, "{n}", strconv.Itoa(*images))
		}
	}
	return strings.Join(lines, "\n")
}
