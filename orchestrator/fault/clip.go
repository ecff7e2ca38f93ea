package fault

import "strings"

// MaxEcho is how many bytes of what a caller sent an answer or a log line repeats.
const MaxEcho = 200

// maxMessage is the longest message of a fault, in bytes.
const maxMessage = 5 * MaxEcho

// Clip returns what a caller sent as a message may repeat it: at most MaxEcho bytes, cut between characters, with the
// cut marked.
func Clip(text string) string { return clip(text, MaxEcho) }

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Clipped returns e with everything that may repeat what a caller sent cut to its bound: texts of Input, names in Path,
// Message. The same holds for the errors joined behind it.
func (e *Error) Clipped() *Error {
	short := *e
	short.Message = clip(e.Message, maxMessage)
	if text, ok := e.Input.(string); ok {
		short.Input = Clip(text)
	}
	short.Path = make([]any, len(e.Path))
	for i, step := range e.Path {
		if name, ok := step.(string); ok {
			step = Clip(name)
		}
		short.Path[i] = step
	}
	if len(e.Path) == 0 {
		short.Path = e.Path
	}
	short.more = make([]*Error, len(e.more))
	for i, other := range e.more {
		short.more[i] = other.Clipped()
	}
	return &short
}
