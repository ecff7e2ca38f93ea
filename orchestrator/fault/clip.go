package fault

import (
	"slices"
	"strings"
)

// MaxEcho is the most bytes of a client's value that an answer or a log line repeats.
const MaxEcho = 200

// maxMessage is the most bytes of a message.
const maxMessage = 5 * MaxEcho

// Clip returns at most MaxEcho bytes of a client's text as valid UTF-8, cut between characters, with an ellipsis if it
// was cut.
func Clip(text string) string { return clip(text, MaxEcho) }

func clip(text string, maxBytes int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxBytes], "") + "…"
}

// Clipped returns e and its joined errors with everything that may repeat a client's text clipped: Input, the names in
// Path, and Message.
func (e *Error) Clipped() *Error {
	clipped := *e
	clipped.Message = clip(e.Message, maxMessage)
	if text, ok := e.Input.(string); ok {
		clipped.Input = Clip(text)
	}
	clipped.Path = slices.Clone(e.Path)
	for i, step := range e.Path {
		if name, ok := step.(string); ok {
			clipped.Path[i] = Clip(name)
		}
	}
	clipped.more = nil
	for _, other := range e.more {
		clipped.more = append(clipped.more, other.Clipped())
	}
	return &clipped
}
