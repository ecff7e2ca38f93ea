package openai

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/fault"
)

// Streams reports whether the request is for a stream.
func (r ResponseRequest) Streams() bool { return isTrue(r.Stream) }

// includeLogprobs is the value of include that requests log probabilities.
const includeLogprobs = "message.output_text.logprobs"

// Validate checks all bounds that do not depend on the model.
func (r *ResponseRequest) Validate() error {
	var problems fault.Problems
	problems.Add(fault.Text(r.Model, "model"), fault.NotEmpty(len(r.Input), "input"))
	problems.AddEach(len(r.Input), func(i int) *fault.Error {
		if f := r.Input[i].check(); f != nil {
			return f.Under("input", i)
		}
		return nil
	})
	problems.Add(chat.AtLeast(r.MaxOutputTokens, 1, "max_output_tokens"))
	sampling := r.sampling()
	sampling.MaxTokens = nil // checked above under its name here
	problems.Add(chat.CheckSampling(sampling)...)
	if top := r.TopLogprobs; top != nil {
		problems.Add(fault.Between(*top, 0, 20, "top_logprobs"))
	}
	r.checkState(&problems)
	r.checkGuides(&problems)
	return problems.Err()
}

// Bounds of metadata.
const (
	maxMetadata      = 16 // pairs
	maxMetadataKey   = 64 // characters
	maxMetadataValue = 512
)

// checkState checks the members that concern stored responses.
func (r *ResponseRequest) checkState(problems *fault.Problems) {
	refuseIf := chat.Refuser(problems)
	refuseIf(chat.IsSet(r.Conversation), "conversation", "conversation is not supported: use previous_response_id")
	refuseIf(chat.IsSet(r.Prompt), "prompt", unsupported, "prompt")
	refuseIf(isTrue(r.Background) && r.Streams(), "stream", "a background response cannot be streamed: poll it")
	refuseIf(isTrue(r.Background) && r.Store != nil && !*r.Store, "store", "a background response must be stored")
	refuseIf(len(r.Metadata) > maxMetadata, "metadata", "metadata has %d pairs, at most %d are allowed",
		len(r.Metadata), maxMetadata)
	for name, value := range r.Metadata {
		if utf8.RuneCountInString(name) > maxMetadataKey || utf8.RuneCountInString(value) > maxMetadataValue {
			problems.Add(chat.Refuse([]any{"metadata", fault.Clip(name)},
				"a key of metadata may have %d characters, a value %d", maxMetadataKey, maxMetadataValue))
			break // maps have no order: one problem, so that the answer is small
		}
	}
}

func (r *ResponseRequest) checkGuides(problems *fault.Problems) {
	if f := r.format(); f.Type == "json_schema" && !tools.IsObject(f.Schema) || len(f.Schema) > maxGuideBytes {
		problems.Add(chat.Refuse([]any{"text", "format"},
			"json_schema needs a schema, which is an object of at most %d bytes", maxGuideBytes))
	}
	size := 0
	for i, t := range r.Tools {
		size += len(t.Parameters)
		problems.Add(fault.Text(t.Name, "tools", i, "name"))
	}
	refuseIf := chat.Refuser(problems)
	refuseIf(size > maxGuideBytes, "tools", toolsTooLong, maxGuideBytes)
	choice, name := readChoice(r.ToolChoice)
	exists := slices.ContainsFunc(r.Tools, func(t ResponseTool) bool { return t.Name == name })
	refuseIf(choice == "" || choice == "function" && !exists || choice == "required" && len(r.Tools) == 0,
		"tool_choice", "tool_choice = %s is not supported!", fault.Clip(string(r.ToolChoice)))
}

func (item *Item) check() *fault.Error {
	if item.Type == "function_call" {
		return fault.Text(item.Call.Name, "name")
	}
	if item.Type != "message" {
		return nil
	}
	if f := fault.OneOf(item.Role, []string{"system", "developer", "user", "assistant"}, "role"); f != nil {
		return f
	}
	return chat.CheckContent(item.Role, item.Content)
}

// format returns the format of the text; default "text".
func (r *ResponseRequest) format() TextFormat {
	if r.Text == nil || r.Text.Format == nil {
		return TextFormat{Type: "text"}
	}
	return *r.Text.Format
}

// sampling returns the engine's settings without guide.
func (r *ResponseRequest) sampling() engine.Sampling {
	s := engine.Sampling{
		N:           1,
		MaxTokens:   r.MaxOutputTokens,
		Temperature: r.Temperature,
		TopP:        r.TopP,

		PresencePenalty:  r.PresencePenalty,
		FrequencyPenalty: r.FrequencyPenalty,
	}
	if slices.Contains(r.Include, includeLogprobs) {
		s.Logprobs = cmp.Or(r.TopLogprobs, new(0))
	}
	return s
}

// conversation converts a valid request with its plan. history are the items of the responses that it continues.
func (r *ResponseRequest) conversation(p tools.Plan, history Items) chat.Conversation {
	c := chat.Conversation{
		Model:    r.Model,
		Field:    "input",
		Sampling: r.sampling(),
		Stream:   r.Streams(),
		Plan:     p,
	}
	c.Sampling.Guide = p.Guide
	if r.Instructions != nil && *r.Instructions != "" {
		c.Messages = append(c.Messages, chat.Message{
			Role:  "system",
			Parts: []chat.Part{{Text: *r.Instructions}},
			Path:  []any{"instructions"},
		})
	}
	for _, item := range history {
		c.Messages = item.appendTo(c.Messages, previousResponse)
	}
	for i, item := range r.Input {
		c.Messages = item.appendTo(c.Messages, "input", i)
	}
	return c
}

// appendTo appends an item at path in the body to messages. It omits reasoning.
func (item *Item) appendTo(messages []chat.Message, path ...any) []chat.Message {
	member := "content"
	message := Message{Role: item.Role, Content: item.Content}
	switch item.Type {
	case "reasoning":
		return messages
	case "function_call":
		message = Message{Role: "assistant", ToolCalls: []ToolCall{{ID: item.CallID, Function: item.Call}}}
	case "function_call_output":
		message.Role = "tool"
		message.ToolCallID = &item.CallID
		member = "output"
	}
	return append(messages, message.chatMessage(member, path...))
}
