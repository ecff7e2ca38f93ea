package engine

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"retort/orchestrator/fault"
)

// tooLong matches messages of vLLM, TensorRT-LLM and Retort's models about a prompt that is too long. The groups, if
// any, are the length of the prompt and the limit in tokens.
var tooLong = []*regexp.Regexp{
	regexp.MustCompile(`prompt \(length (?P<prompt>\d+)\) ` +
		`(?:plus the number of requested output tokens \(at least 1\) )?` +
		`is longer than the maximum model length of (?P<limit>\d+)`),
	regexp.MustCompile(`[Pp]rompt length \((?P<prompt>\d+)\) exceeds maximum input length \((?P<limit>\d+)\)`),
	regexp.MustCompile(`maximum context length is (?P<limit>\d+) tokens\. However, ` +
		`(?:you requested|your request has|your messages resulted in|your prompt contains(?: at least)?) ` +
		`(?P<prompt>\d+)(?: input)? tokens`),
	regexp.MustCompile(`maximum context length is (?P<limit>\d+) tokens`), // vLLM counts the characters of a very long prompt
	regexp.MustCompile(`longer than the maximum model length|exceeds maximum input length|maximum context length`),
}

// refusals matches messages about the request, as opposed to failures of the engine: those of Retort's models, of vLLM
// and of the image library PIL.
var refusals = regexp.MustCompile(`(?s)InvalidRequest: (.+)|` +
	`(At most \d+ image\(s\) may be provided in one (?:prompt|request)\.?)|` +
	`(cannot identify image file)`)

// guideRefusals matches messages of vLLM's backends xgrammar, guidance and outlines about a guide that is malformed or
// that they do not support.
var guideRefusals = regexp.MustCompile(`(?s)(?:The provided JSON schema contains features not supported|` +
	`Failed to transform (?:json schema|regex|choices) into|` +
	`Invalid (?:JSON )?grammar specification|Grammar error: |Error parsing regex: |` +
	`Regex uses unsupported feature for structured outputs).*`)

// settingRefusal matches messages of vLLM (seen in 0.32) about a setting that it refuses. The groups are the reason and
// the setting's name.
var settingRefusal = regexp.MustCompile(`(?s)^(?:Error generating stream: )?(.+) \(parameter=(\w+)(?:, value=.*)?\)$`)

// explain turns an engine's error about the request into an Invalid fault. Engines report a bad request and a failure
// of their own in the same way, so only the text tells.
func explain(err error, r Request) error {
	f := fault.As(err)
	if f.Kind != fault.Internal && f.Kind != fault.Rejected {
		return err
	}
	if refusal := tooLongPrompt(f.Message, r); refusal != nil {
		refusal.Err = err
		return refusal
	}
	if found := refusals.FindStringSubmatch(f.Message); found != nil {
		text := strings.Join(found[1:], "") // one of the groups has matched
		return &fault.Error{Kind: fault.Invalid, Path: []any{r.Field}, Message: strings.TrimSpace(text), Err: err}
	}
	if found := guideRefusals.FindString(f.Message); found != "" && r.Sampling.Guide != nil {
		return &fault.Error{Kind: fault.Invalid, Path: []any{r.Sampling.Guide.Field}, Message: found, Err: err}
	}
	if found := settingRefusal.FindStringSubmatch(f.Message); found != nil && slices.Contains(settingNames, found[2]) {
		return &fault.Error{Kind: fault.Invalid, Path: []any{found[2]}, Message: found[1], Err: err}
	}
	if f.Kind == fault.Rejected { // tensors that do not fit are a mistake of this program or of the model's entry
		return &fault.Error{Kind: fault.Internal, Message: f.Message, Err: err}
	}
	return err
}

// tooLongPrompt returns the documented fault if message says that the prompt is too long, with the message's numbers if
// it has any. Otherwise it returns nil.
func tooLongPrompt(message string, r Request) *fault.Error {
	for _, pattern := range tooLong {
		found := pattern.FindStringSubmatch(message)
		if found == nil {
			continue
		}
		limit := r.MaxLength
		prompt := r.PromptTokens
		for i, name := range pattern.SubexpNames() {
			n, _ := strconv.Atoi(found[i])
			switch name {
			case "limit":
				limit = n
			case "prompt":
				prompt = n
			}
		}
		return TooLong(r.Field, limit, prompt, 0)
	}
	return nil
}

// TooLong returns the documented fault of a conversation that is too long. field is the member of the HTTP request that
// has it, limit the model's maximum, prompt and answer are the requested lengths, all in tokens. An answer of 0 means
// any length, a prompt of 0 an unknown length.
func TooLong(field string, limit, prompt, answer int) *fault.Error {
	var excess string
	switch {
	case answer > 0:
		excess = fmt.Sprintf("you requested %d tokens (%d in the messages, %d in the completion). "+
			"Please reduce the length of the messages or completion.", uint64(prompt)+uint64(answer), prompt, answer)
	case prompt > 0:
		excess = fmt.Sprintf("you requested %d tokens in the messages. Please reduce the length of the messages.", prompt)
	default:
		excess = "your messages are longer. Please reduce the length of the messages."
	}
	message := fmt.Sprintf("This model's maximum context length is %d tokens. However, %s", limit, excess)
	return &fault.Error{Kind: fault.Invalid, Path: []any{field}, Message: message}
}
