package anthropic

import (
	"slices"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
)

// Streams reports whether the request is for a stream.
func (r Request) Streams() bool { return r.Stream != nil && *r.Stream }

// conversation converts a valid request with its plan.
func (r *Request) conversation(p tools.Plan) chat.Conversation {
	c := r.Input.conversation(p)
	c.Sampling = r.sampling()
	c.Sampling.Guide = p.Guide
	c.Stream = r.Streams()
	return c
}

// sampling returns the engine's settings without guide.
func (r *Request) sampling() engine.Sampling {
	return engine.Sampling{
		N:           1,
		MaxTokens:   r.MaxTokens,
		Temperature: r.Temperature,
		TopP:        r.TopP,
		TopK:        r.TopK,
		Stop:        r.StopSequences,
	}
}

// conversation converts what the model reads. The model continues a last turn of the assistant, unless that is empty.
func (in *Input) conversation(p tools.Plan) chat.Conversation {
	c := chat.Conversation{Model: in.Model, Field: "messages", Sampling: engine.Sampling{N: 1}, Plan: p}
	if parts := in.System.parts("system"); len(parts) > 0 {
		c.Messages = append(c.Messages, chat.Message{Role: "system", Parts: parts, Path: []any{"system"}})
	}
	for i, turn := range in.Messages {
		message := chat.Message{
			Role:  turn.Role,
			Parts: turn.Content.parts("messages", i, "content"),
			Path:  []any{"messages", i},
		}
		if last := len(c.Messages) - 1; last >= 0 && c.Messages[last].Role == turn.Role {
			c.Messages[last].Parts = append(c.Messages[last].Parts, message.Parts...)
			continue
		}
		c.Messages = append(c.Messages, message)
	}
	last := len(c.Messages) - 1
	switch {
	case c.Messages[last].Role != "assistant":
	case last > 0 && isEmpty(c.Messages[last].Parts):
		c.Messages = c.Messages[:last]
	default:
		c.ContinueFinal = true
	}
	return c
}

// isEmpty reports whether the parts of a message have no text, image or call.
func isEmpty(parts []chat.Part) bool {
	return !slices.ContainsFunc(parts, func(p chat.Part) bool { return p.Text != "" || p.Image != nil || p.Call != nil })
}

// parts returns the parts of all blocks, whose images have their Path in the body. path is that of the content.
func (content Content) parts(path ...any) (parts []chat.Part) {
	for i, block := range content {
		parts = append(parts, chat.PrefixImagePaths(block.Parts, append(path[:len(path):len(path)], i)...)...)
	}
	return parts
}

// plan returns the plan of a valid request. It has the guide of the output's format, else a plan for its tools.
func (in *Input) plan() tools.Plan {
	if f := in.format(); f != nil {
		return tools.Plan{Guide: &engine.Guide{Field: "output_config", Schema: f.Schema}}
	}
	list := make([]tools.Tool, len(in.Tools))
	for i, t := range in.Tools {
		list[i] = tools.Tool{Name: t.Name, Description: t.Description, Parameters: t.InputSchema}
	}
	choice, name := in.choice()
	plan := tools.NewPlan(list, choice, name)
	plan.Single = in.ToolChoice != nil && in.ToolChoice.Single
	return plan
}

// format returns the format of the text, or nil.
func (in *Input) format() *Format {
	if in.OutputConfig == nil {
		return nil
	}
	return in.OutputConfig.Format
}

// choice returns the choice of tools for tools.NewPlan.
func (in *Input) choice() (choice, name string) {
	switch c := in.ToolChoice; {
	case c == nil:
		return "auto", ""
	case c.Type == "any":
		return "required", ""
	case c.Type == "tool" && c.Name != nil:
		return "function", *c.Name
	case c.Type == "tool":
		return "function", ""
	default:
		return c.Type, ""
	}
}
