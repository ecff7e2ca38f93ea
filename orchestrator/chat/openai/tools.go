package openai

import (
	"encoding/json"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/wire"
)

// maxTools bounds the tools of one request, and the tool calls of one message.
const maxTools = tools.Max

// ToolList are tools that a request offers, or tool calls of an earlier answer.
type ToolList[T Tool | ToolCall] []T

// UnmarshalJSON decodes a list of objects. It ignores their unknown members.
func (list *ToolList[T]) UnmarshalJSON(data []byte) (err error) {
	*list, err = chat.ReadList(data, maxTools, chat.ReadStruct[T])
	return err
}

func mismatchOf(err error) *wire.Mismatch { return chat.MismatchOf(err) }

// readChoice decodes tool_choice: "none", "auto" (the default), "required", or "function" with the function's name. The
// choice is "" if it is invalid.
func readChoice(raw json.RawMessage) (choice, name string) {
	if !chat.IsSet(raw) {
		return "auto", ""
	}
	if json.Unmarshal(raw, &choice) == nil {
		if choice != "none" && choice != "auto" && choice != "required" {
			return "", ""
		}
		return choice, ""
	}
	var object struct {
		Type     string
		Name     string // in the Responses API
		Function struct{ Name string }
	}
	if json.Unmarshal(raw, &object) != nil || object.Type != "function" {
		return "", ""
	}
	return "function", object.Name + object.Function.Name
}
