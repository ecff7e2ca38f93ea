package prompt

import (
	"regexp"
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
	Role  string
	Parts []Part
}

// Form is the type of a message's content in a template.
type Form string

const (
	// Auto derives the form from the template's text.
	Auto Form = "auto"
	// Text is one string with placeholders for images.
	Text Form = "text"
	// Parts is always a list of {"type": "text" | "image", …}.
	Parts Form = "parts"
	// Mixed is a list for a message with an image, else a string.
	Mixed Form = "mixed"
)

var (
	// listUse matches templates that use content as a list; stringTest matches those that also take a string.
	listUse = regexp.MustCompile(
		`for\s+\w+\s+in\s+[^%]*content|content\s*(\[\s*['"]text|\|\s*selectattr)|content['"]?\]?\s*\[\s*0\s*\]`)
	stringTest = regexp.MustCompile(`is\s+(not\s+)?string`)
)

// formOf guesses the form from how the template uses content.
func formOf(source string) Form {
	switch {
	case !listUse.MatchString(source):
		return Text
	case stringTest.MatchString(source):
		return Mixed
	}
	return Parts
}

// ordered moves images to the front if the model expects that.
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

// content returns the content of a message for the template. images counts the images of the conversation so far.
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

// flat writes one part per line, as vLLM does for templates that take text.
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
