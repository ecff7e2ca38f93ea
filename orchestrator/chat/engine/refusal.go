package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"retort/orchestrator/fault"
)

// tooLong are the words in which engines refuse a prompt that is too long, with its length and the limit where they
// tell them: vLLM's, TensorRT-LLM's, and those of Retort's models, which are the documented ones.
var tooLong = []*regexp.Regexp{
	regexp.MustCompile(`prompt \(length (?P<prompt>\d+)\) (?:plus the number of requested output tokens \(at least 1\) )?is longer than the maximum model length of (?P<most>\d+)`),
	regexp.MustCompile(`[Pp]rompt length \((?P<prompt>\d+)\) exceeds maximum input length \((?P<most>\d+)\)`),
	regexp.MustCompile(`maximum context length is (?P<most>\d+) tokens\. However, (?:you requested|your request has|your messages resulted in|your prompt contains(?: at least)?) (?P<prompt>\d+)(?: input)? tokens`),
	regexp.MustCompile(`maximum context length is (?P<most>\d+) tokens`), // vLLM counts characters of a prompt that is very long
	regexp.MustCompile(`longer than the maximum model length|exceeds maximum input length|maximum context length`),
}

// refusals are beginnings of what engines say about the request itself, as opposed to themselves. Retort's models use
// the first.
var refusals = regexp.MustCompile(`(?s)(?:InvalidRequest: (?P<retort>.+)|(?P<vllm>At most \d+ image\(s\) may be provided in one (?:prompt|request)\.?)|(?P<pil>cannot identify image file))`)

// formRefusals are vLLM's words about the form that an answer is to have, of its backends xgrammar, guidance and
// outlines: a schema, pattern or grammar that is broken, or that asks for what they cannot hold an answer to.
var formRefusals = regexp.MustCompile(`(?s)(?:The provided JSON schema contains features not supported|Failed to transform (?:json schema|regex|choices) into|` +
	`Invalid (?:JSON )?grammar specification|Grammar error: |Error parsing regex: |Regex uses unsupported feature for structured outputs).*`)

// settingRefusal is how vLLM (seen in 0.32) ends what it says about a setting that it does not take: with the setting's
// name.
var settingRefusal = regexp.MustCompile(`(?s)^(?:Error generating stream: )?(.+) \(parameter=(\w+)(?:, value=.*)?\)$`)

// explain finds out whose fault an engine's error is. Engines answer a bad request and a failure of theirs in the same
// way, with a text. Where the text is about the request, the error becomes an Invalid fault of the prompt's field.
func explain(err error, p Prompt) error {
	f := fault.As(err)
	if f.Kind != fault.Internal && f.Kind != fault.Rejected {
		return err
	}
	if long := tooLongPrompt(f.Message, p); long != nil {
		long.Err = err
		return long
	}
	if found := refusals.FindStringSubmatch(f.Message); found != nil {
		text := strings.Join(found[1:], "") // one of them was found
		return &fault.Error{Kind: fault.Invalid, Path: []any{p.Field}, Message: strings.TrimSpace(text), Err: err}
	}
	if found := formRefusals.FindString(f.Message); found != "" && p.Sampling.Guide != nil {
		return &fault.Error{Kind: fault.Invalid, Path: []any{p.Sampling.Guide.Field}, Message: found, Err: err}
	}
	if found := settingRefusal.FindStringSubmatch(f.Message); found != nil && slices.Contains(settingNames, found[2]) {
		return &fault.Error{Kind: fault.Invalid, Path: []any{found[2]}, Message: found[1], Err: err}
	}
	if f.Kind == fault.Rejected { // the tensors did not fit: a fault of this program or of the model's entry
		return &fault.Error{Kind: fault.Internal, Message: f.Message, Err: err}
	}
	return err
}

// tooLongPrompt returns the documented fault where an engine's words say that the prompt is too long, with its numbers
// where it tells them.
func tooLongPrompt(text string, p Prompt) *fault.Error {
	for _, pattern := range tooLong {
		found := pattern.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		most := p.MaxLength
		prompt := p.InputTokens
		for i, name := range pattern.SubexpNames() {
			n, _ := strconv.Atoi(found[i])
			switch name {
			case "most":
				most = n
			case "prompt":
				prompt = n
			}
		}
		return TooLong(p.Field, most, prompt, 0)
	}
	return nil
}

// TooLong is the documented answer to a conversation that is too long. field is the member of the request that holds it,
// most the model's limit, prompt and answer are the requested lengths, all in tokens. An answer of 0 means any length, a
// prompt of 0 an unknown length.
func TooLong(field string, most, prompt, answer int) *fault.Error {
	text := fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). "+
		"Please reduce the length of the messages or completion.", most, prompt+answer, prompt, answer)
	if answer == 0 && prompt == 0 {
		text = fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages are longer. "+
			"Please reduce the length of the messages.", most)
	} else if answer == 0 {
		text = fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens in the messages. "+
			"Please reduce the length of the messages.", most, prompt)
	}
	return &fault.Error{Kind: fault.Invalid, Path: []any{field}, Message: text}
}
