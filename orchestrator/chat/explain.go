package chat

import (
	"regexp"
	"strconv"
	"strings"

	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// tooLong are the words in which engines refuse a prompt that is too long,
// with its length and the limit where they tell them: vLLM's, TensorRT-LLM's,
// and those of our own models, which are the documented ones.
var tooLong = []*regexp.Regexp{
	regexp.MustCompile(`prompt \(length (?P<prompt>\d+)\) is longer than the maximum model length of (?P<most>\d+)`),
	regexp.MustCompile(`[Pp]rompt length \((?P<prompt>\d+)\) exceeds maximum input length \((?P<most>\d+)\)`),
	regexp.MustCompile(`maximum context length is (?P<most>\d+) tokens\. However, (?:you requested|your request has|your messages resulted in) (?P<prompt>\d+)`),
	regexp.MustCompile(`longer than the maximum model length|exceeds maximum input length|maximum context length`),
}

// refusals are beginnings of what engines say about the request itself, as
// opposed to themselves. Our own models use the first.
var refusals = regexp.MustCompile(`(?s)(?:InvalidRequest: (?P<own>.+)|(?P<vllm>At most \d+ image\(s\) may be provided in one (?:prompt|request)\.?)|(?P<pil>cannot identify image file))`)

// explain makes a fault of the request of an engine's error, where that is
// what it is. Engines answer bad requests and their own failures alike, with a
// text.
func (m *Model) explain(err error, p Prompt) error {
	f := fault.As(err)
	if f.Kind != fault.Internal && f.Kind != fault.Invalid {
		return err
	}
	for _, pattern := range tooLong {
		found := pattern.FindStringSubmatch(f.Message)
		if found == nil {
			continue
		}
		most, prompt := m.MaxLength, p.InputTokens
		for i, name := range pattern.SubexpNames() {
			n, _ := strconv.Atoi(found[i])
			switch name {
			case "most":
				most = n
			case "prompt":
				prompt = n
			}
		}
		long := overflow(most, prompt, 0)
		long.Err = err
		return long
	}
	if found := refusals.FindStringSubmatch(f.Message); found != nil {
		text := found[1] + found[2] + found[3]
		return &fault.Error{Kind: fault.Invalid, Path: []any{"messages"}, Message: strings.TrimSpace(text), Err: err}
	}
	if f.Kind == fault.Invalid { // the tensors did not fit: our mistake, or the entry's
		return &fault.Error{Kind: fault.Internal, Message: f.Message, Err: err}
	}
	return err
}

// count is the number of tokens of a text, special ones included; 0 without a
// tokenizer.
func (m *Model) count(text string) int {
	if m.tokenizer == nil {
		return 0
	}
	var e tokenizers.Encoding
	if err := m.tokenizer.EncodeInto(&e, text, tokenizers.Options{}); err != nil {
		return 0
	}
	return len(e.IDs)
}
