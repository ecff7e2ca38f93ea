package prompt

import (
	"regexp"
	"strconv"
	"strings"

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

// content is what the template sees of one message; images counts those of the conversation so far.
func (t *Template) content(parts []Part, images *int) any {
	if t.options.Form == Text {
		return t.flat(parts, images)
	}
	list := make([]any, len(parts))
	hasImage := false
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
