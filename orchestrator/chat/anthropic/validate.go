package anthropic

import (
	"slices"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/fault"
)

// Validate checks all bounds that do not depend on the model.
func (r *Request) Validate() error {
	var problems fault.Problems
	r.Input.check(&problems)
	problems.Add(chat.CheckSampling(r.sampling())...)
	if f := r.StopSequences.Check(); f != nil {
		f.Path[0] = "stop_sequences"
		problems.Add(f)
	}
	return problems.Err()
}

// Validate checks all bounds that do not depend on the model.
func (in *Input) Validate() error {
	var problems fault.Problems
	in.check(&problems)
	return problems.Err()
}

func (in *Input) check(problems *fault.Problems) {
	problems.Add(fault.Text(in.Model, "model"), fault.NotEmpty(len(in.Messages), "messages"))
	problems.AddEach(len(in.Messages), func(i int) *fault.Error {
		if f := in.Messages[i].check(); f != nil {
			return f.Under("messages", i)
		}
		return nil
	})
	problems.Add(in.System.allow("a system prompt", "system", "text"))
	refuseIf := chat.Refuser(problems)
	refuseIf(bool(in.MCPServers), "mcp_servers", unsupported, "mcp_servers")
	refuseIf(chat.IsSet(in.Container), "container", unsupported, "container")
	in.checkTools(problems)
	if f := in.format(); f != nil && (!tools.IsObject(f.Schema) || len(f.Schema) > engine.MaxGuideBytes) {
		problems.Add(chat.Refuse([]any{"output_config", "format", "schema"},
			"the schema must be an object of at most %d bytes", engine.MaxGuideBytes))
	}
}

const unsupported = "%s is not supported by this service"

// kinds are the kinds of blocks that a turn of each role may have.
var kinds = map[string][]string{
	"user":      {"text", "image", "tool_result"},
	"assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
	"system":    {"text"},
}

func (t *Turn) check() *fault.Error {
	if f := fault.OneOf(t.Role, []string{"user", "assistant", "system"}, "role"); f != nil {
		return f
	}
	if f := t.Content.allow("a message of role "+t.Role, "content", kinds[t.Role]...); f != nil {
		return f
	}
	return chat.CheckContent(t.Role, t.Content.parts())
}

// allow refuses the first block of another kind than those of the owner of the content, which is at the given member.
func (content Content) allow(owner, member string, kinds ...string) *fault.Error {
	for i, block := range content {
		if !slices.Contains(kinds, block.Kind) {
			return chat.Refuse([]any{member, i, "type"}, "%s has no blocks of type %q", owner, block.Kind)
		}
	}
	return nil
}

// checkTools refuses tools that are not functions, and a choice that is none of them.
func (in *Input) checkTools(problems *fault.Problems) {
	size := 0
	problems.AddEach(len(in.Tools), func(i int) *fault.Error {
		size += len(in.Tools[i].InputSchema)
		if f := in.Tools[i].check(); f != nil {
			return f.Under("tools", i)
		}
		return nil
	})
	refuseIf := chat.Refuser(problems)
	refuseIf(size > engine.MaxGuideBytes, "tools",
		"the schemas of all tools must not be longer than %d bytes", engine.MaxGuideBytes)
	choice, name := in.choice()
	isNamed := func(t Tool) bool { return t.Name == name }
	switch {
	case choice == "required" && len(in.Tools) == 0:
		refuseIf(true, "tool_choice", "tool_choice \"any\" needs tools")
	case choice == "function" && !slices.ContainsFunc(in.Tools, isNamed):
		problems.Add(chat.Refuse([]any{"tool_choice", "name"},
			"tool_choice names %q, which is none of the tools", fault.Clip(name)))
	}
}

func (t *Tool) check() *fault.Error {
	switch {
	case t.Type != nil && *t.Type != "custom":
		return chat.Refuse([]any{"type"},
			"tools of type %q are not supported: only functions with an input_schema", fault.Clip(*t.Type))
	case t.Name == "":
		return fault.Field("missing", nil, []any{"name"}, "Field required")
	case !tools.IsObject(t.InputSchema):
		return chat.Refuse([]any{"input_schema"}, "input_schema must be a JSON schema, which is an object")
	}
	return nil
}
