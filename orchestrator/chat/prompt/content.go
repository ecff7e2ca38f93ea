package prompt

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"retort/tokenizers/template"
)

// Part is one part of a message: an image or a text.
type Part struct {
	Image bool
	Text  string
}

// Message is one turn of a chat.
type Message struct {
	Role  string // "system", "user", "assistant", or "tool" for the result of a call
	Parts []Part
	Calls []Call // of an assistant
	Of    Call   // the call whose result a tool's message has
}

// Call is a call of a tool.
type Call struct {
	ID        string
	Name      string
	Arguments string // JSON text
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage // a JSON schema, nil for none
}

// Values of Options.ContentFormat beside "auto".
const (
	formatText  = "text"
	formatParts = "parts"
	formatMixed = "mixed"
)

var (
	// listUse matches templates that use content as a list; stringTest matches those that also accept a string.
	listUse = regexp.MustCompile(
		`for\s+\w+\s+in\s+[^%]*content|content\s*(\[\s*['"]text|\|\s*selectattr)|content['"]?\]?\s*\[\s*0\s*\]`)
	stringTest = regexp.MustCompile(`is\s+(not\s+)?string`)
)

// contentFormatOf guesses the format from how the template uses content.
func contentFormatOf(source string) string {
	switch {
	case !listUse.MatchString(source):
		return formatText
	case stringTest.MatchString(source):
		return formatMixed
	}
	return formatParts
}

// prepare returns the parts of a message as the prompt has them: in the model's order and with special tokens escaped.
func (t *Template) prepare(parts []Part) []Part {
	if !t.options.ImageFirst {
		return t.escaper.escape(parts)
	}
	sorted := make([]Part, 0, len(parts))
	for _, images := range []bool{true, false} {
		for _, p := range parts {
			if p.Image == images {
				sorted = append(sorted, p)
			}
		}
	}
	return t.escaper.escape(sorted)
}

// content returns the content of a message for the template. images counts the images of the conversation so far.
func (t *Template) content(parts []Part, images *int) any {
	hasImage := slices.ContainsFunc(parts, func(p Part) bool { return p.Image })
	if format := t.options.ContentFormat; format == formatText || format == formatMixed && !hasImage {
		return t.textContent(parts, images)
	}
	list := make([]any, len(parts))
	for i, p := range parts {
		list[i] = template.NewDict("type", "text", "text", p.Text)
		if p.Image {
			list[i] = template.NewDict("type", "image")
		}
	}
	return list
}

// textContent returns one line for each part, as vLLM does for templates that expect a string.
func (t *Template) textContent(parts []Part, images *int) string {
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
