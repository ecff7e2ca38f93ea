package openai

import (
	"context"

	"retort/orchestrator/chat"
)

// Respond answers in one piece: the events of a stream lead to the same response, of which only the last is kept.
func (s *Service) Respond(ctx context.Context, r ResponseRequest) (Response, error) {
	w := s.newResponseWriter(r, func(string, any) error { return nil })
	err := w.run(ctx)
	return w.response, err
}

// responseUsage is nil, which is null, where tokens cannot be counted.
func responseUsage(a *chat.Answer) *ResponseUsage {
	u := usageOf(a)
	if u == nil {
		return nil
	}
	return &ResponseUsage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
}

// message is an item with a text.
func message(id, status string, content ...OutputText) OutputItem {
	list := append([]OutputText{}, content...)
	return OutputItem{ID: id, Type: "message", Status: status, Role: "assistant", Content: &list}
}

// functionCall is an item that calls a tool.
func functionCall(id, status string, call ToolCall) OutputItem {
	return OutputItem{
		ID: id, Type: "function_call", Status: status, CallID: call.ID, Name: call.Function.Name, Arguments: &call.Function.Arguments,
	}
}

func outputText(text string, logprobs []TokenLogprob) OutputText {
	return OutputText{Type: "output_text", Text: text, Annotations: []struct{}{}, Logprobs: append([]TokenLogprob{}, logprobs...)}
}
