package tools

import "slices"

// Format is how a model treats tools that it may call.
type Format string

// The formats. Those of calls have the names of vLLM's parsers
// (https://docs.vllm.ai/en/latest/features/tool_calling.html).
const (
	Refused Format = "false"       // tools that may be called are refused
	Ignored Format = "true"        // tools may be offered, but the model is not told of them
	Hermes  Format = "hermes"      // <tool_call>{"name": …, "arguments": {…}}</tool_call>, as Qwen's models write
	Llama   Format = "llama3_json" // {"name": …, "parameters": {…}}, at the start of a line or after <|python_tag|>
	Mistral Format = "mistral"     // [TOOL_CALLS][{"name": …, "arguments": {…}}, …] or [TOOL_CALLS]name{…}
)

// Formats are all formats, the default first.
var Formats = []string{string(Refused), string(Ignored), string(Hermes), string(Llama), string(Mistral)}

// HasCalls reports whether models of this format write calls, and so whether their chat template renders tools.
func (f Format) HasCalls() bool { return f == Hermes || f == Llama || f == Mistral }

// HasSpecialMarker reports whether the marker of a call is a special token of some models, which an engine must not
// leave out of the answer.
func (f Format) HasSpecialMarker() bool { return f == Hermes || f == Mistral }

// DetectFormat returns the format in which a prompt has exactly the given calls, which a chat template wrote, or
// Refused if there is none. The formats with markers come first, because the JSON after a marker may be a call of
// Llama's format too.
func DetectFormat(prompt string, tools []Tool, calls ...Delta) Format {
	for _, format := range []Format{Hermes, Mistral, Llama} {
		var found []Delta
		for _, delta := range (Plan{Tools: tools, Optional: true}).NewReader(format).Read(prompt, true) {
			if !delta.IsText() {
				found = append(found, delta)
			}
		}
		if slices.Equal(found, calls) {
			return format
		}
	}
	return Refused
}
