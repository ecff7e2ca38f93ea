package openai

import (
	"cmp"
	"slices"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
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
	r.checkStateless(&problems)
	r.checkGuides(&problems)
	return problems.Err()
}

// checkStateless refuses members that need stored responses.
func (r *ResponseRequest) checkStateless(problems *fault.Problems) {
	for _, member := range []struct {
		name string
		set  bool
	}{
		{"previous_response_id", r.PreviousResponseID != nil},
		{"conversation", chat.IsSet(r.Conversation)},
		{"prompt", chat.IsSet(r.Prompt)},
		{"background", isTrue(r.Background)},
	} {
		refuser(problems)(member.set, member.name,
			"%s is not supported: this service stores no responses; send the whole conversation", member.name)
	}
}

func (r *ResponseRequest) checkGuides(problems *fault.Problems) {
	if f := r.format(); f.Type == "json_schema" && !isObject(f.Schema) || len(f.Schema) > maxGuideBytes {
		problems.Add(chat.Refuse([]any{"text", "format"},
			"json_schema needs a schema, which is an object of at most %d bytes", maxGuideBytes))
	}
	size := 0
	for _, t := range r.Tools {
		size += len(t.Parameters)
	}
	refuseIf := refuser(problems)
	refuseIf(size > maxGuideBytes, "tools", toolsTooLong, maxGuideBytes)
	choice, name := readChoice(r.ToolChoice)
	exists := slices.ContainsFunc(r.Tools, func(t ResponseTool) bool { return t.Name == name })
	refuseIf(choice == "" || choice == "function" && !exists || choice == "required" && len(r.Tools) == 0,
		"tool_choice", "tool_choice = %s is not supported!", fault.Clip(string(r.ToolChoice)))
}

func (item *Item) check() *fault.Error {
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
	}
	if slices.Contains(r.Include, includeLogprobs) {
		s.Logprobs = cmp.Or(r.TopLogprobs, new(0))
	}
	return s
}

// conversation converts a valid request with its plan.
func (r *ResponseRequest) conversation(p plan) chat.Conversation {
	c := chat.Conversation{
		Model:       r.Model,
		Field:       "input",
		Sampling:    r.sampling(),
		Stream:      r.Streams(),
		OffersTools: p.optional,
	}
	c.Sampling.Guide = p.guide
	if r.Instructions != nil && *r.Instructions != "" {
		c.Messages = append(c.Messages, chat.Message{
			Role:  "system",
			Parts: []chat.Part{{Text: *r.Instructions}},
			Path:  []any{"instructions"},
		})
	}
	for i, item := range r.Input {
		member := "content"
		message := Message{Role: item.Role, Content: item.Content}
		switch item.Type {
		case "reasoning":
			continue
		case "function_call":
			message = Message{Role: "assistant", ToolCalls: []ToolCall{{Function: item.Call}}}
		case "function_call_output":
			message.Role = "tool"
			member = "output"
		}
		c.Messages = append(c.Messages, message.chatMessage(member, "input", i))
	}
	return c
}
