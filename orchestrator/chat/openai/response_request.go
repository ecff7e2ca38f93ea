package openai

import (
	"encoding/json"
	"slices"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/fault"
)

// Streams reports whether the answer is wanted as events.
func (r ResponseRequest) Streams() bool { return isTrue(r.Stream) }

// withLogprobs is the member of include that asks for log probabilities.
const withLogprobs = "message.output_text.logprobs"

// Validate checks what needs no model to be known.
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
	sampling.MaxTokens = nil
	chat.CheckSampling(problems.Add, &sampling)
	if top := r.TopLogprobs; top != nil {
		problems.Add(fault.Between(*top, 0, 20, "top_logprobs"))
	}
	r.checkState(&problems)
	r.checkForm(&problems)
	return problems.Err()
}

func (r *ResponseRequest) checkState(problems *fault.Problems) {
	for _, kept := range []struct {
		name  string
		asked bool
	}{
		{"previous_response_id", r.PreviousResponseID != nil},
		{"conversation", given(r.Conversation)},
		{"prompt", given(r.Prompt)},
		{"background", isTrue(r.Background)},
	} {
		if kept.asked {
			problems.Add(chat.Refuse(nil, []any{kept.name}, "%s is not supported: this service keeps nothing of a response; send the whole conversation", kept.name))
		}
	}
}

func (r *ResponseRequest) checkForm(problems *fault.Problems) {
	if f := r.format(); f.Type == "json_schema" && !isObject(f.Schema) || len(f.Schema) > maxForm {
		problems.Add(chat.Refuse(nil, []any{"text", "format"}, "json_schema needs a schema, which is an object of at most %d bytes", maxForm))
	}
	size := 0
	for _, t := range r.Tools {
		size += len(t.Parameters)
	}
	if size > maxForm {
		problems.Add(chat.Refuse(nil, []any{"tools"}, "the parameters of all tools must not be longer than %d bytes", maxForm))
	}
	choice, name := readChoice(r.ToolChoice)
	known := slices.ContainsFunc(r.Tools, func(t ResponseTool) bool { return t.Name == name })
	if choice == "" || choice == "function" && !known || choice == "required" && len(r.Tools) == 0 {
		problems.Add(chat.Refuse(nil, []any{"tool_choice"}, "tool_choice = %s is not supported!", fault.Clip(string(r.ToolChoice))))
	}
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

// maxMetadata is how many bytes of metadata are said back: above what OpenAI takes.
const maxMetadata = 16 << 10

// format is the form of the text; that of a text without one is text.
func (r *ResponseRequest) format() TextFormat {
	if r.Text == nil || r.Text.Format == nil {
		return TextFormat{Type: "text"}
	}
	return *r.Text.Format
}

// plan is what the tools of a valid request and its form come to.
func (r *ResponseRequest) plan() plan {
	switch f := r.format(); f.Type {
	case "json_object":
		return plan{guide: &engine.Guide{Field: "text", Object: true}}
	case "json_schema":
		return plan{guide: &engine.Guide{Field: "text", Schema: f.Schema}}
	}
	tools := make([]Tool, len(r.Tools))
	for i, t := range r.Tools {
		tools[i] = Tool{Type: t.Type, Function: Function{Name: t.Name, Parameters: t.Parameters}}
	}
	return planTools(tools, r.ToolChoice, "tools")
}

func (r *ResponseRequest) sampling() engine.Sampling {
	s := engine.Sampling{N: 1, MaxTokens: r.MaxOutputTokens, Temperature: r.Temperature, TopP: r.TopP, Guide: r.plan().guide}
	if slices.Contains(r.Include, withLogprobs) {
		top := 0
		if r.TopLogprobs != nil {
			top = *r.TopLogprobs
		}
		s.Logprobs = &top
	}
	return s
}

// conversation is what r asks for.
func (r *ResponseRequest) conversation() chat.Conversation {
	c := chat.Conversation{Model: r.Model, Field: "input", Sampling: r.sampling(), Stream: r.Streams(), Tools: r.plan().offered}
	if r.Instructions != nil && *r.Instructions != "" {
		c.Messages = append(c.Messages, chat.Message{Role: "system", Parts: []chat.Part{{Text: *r.Instructions}}, Place: []any{"instructions"}})
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
		c.Messages = append(c.Messages, message.turn(member, "input", i))
	}
	return c
}

// response is the answer to r before anything of it is written.
func (r *ResponseRequest) response() Response {
	res := Response{
		ID: "resp_" + randomHex(), Object: "response", Status: "in_progress", Instructions: r.Instructions, MaxOutputTokens: r.MaxOutputTokens,
		Model: r.Model, Output: []OutputItem{}, ParallelToolCalls: r.ParallelToolCalls == nil || *r.ParallelToolCalls,
		Temperature: r.Temperature, Text: ResponseText{Format: r.format()}, ToolChoice: "auto", Tools: r.Tools, TopP: r.TopP,
		Truncation: "disabled", Metadata: r.Metadata,
	}
	if given(r.ToolChoice) {
		res.ToolChoice = json.RawMessage(r.ToolChoice)
	}
	if res.Tools == nil {
		res.Tools = []ResponseTool{}
	}
	if !isObject(res.Metadata) || len(res.Metadata) > maxMetadata {
		res.Metadata = json.RawMessage("{}")
	}
	if r.TopLogprobs != nil {
		res.TopLogprobs = *r.TopLogprobs
	}
	return res
}
