package openai

import (
	"encoding/json"

	"retort/orchestrator/chat"
)

// maxMetadata bounds the metadata that a response repeats, in bytes. OpenAI accepts less.
const maxMetadata = 16 << 10

// newResponse returns the response to r before the model writes anything.
func (r *ResponseRequest) newResponse() Response {
	response := Response{
		ID:                "resp_" + randomHex(),
		Object:            "response",
		Status:            "in_progress",
		Instructions:      r.Instructions,
		MaxOutputTokens:   r.MaxOutputTokens,
		Model:             r.Model,
		Output:            []OutputItem{},
		ParallelToolCalls: r.ParallelToolCalls == nil || *r.ParallelToolCalls,
		Temperature:       r.Temperature,
		Text:              ResponseText{Format: r.format()},
		ToolChoice:        "auto",
		Tools:             append([]ResponseTool{}, r.Tools...),
		TopP:              r.TopP,
		Truncation:        "disabled",
		Metadata:          r.Metadata,
	}
	if chat.IsSet(r.ToolChoice) {
		response.ToolChoice = r.ToolChoice
	}
	if !isObject(r.Metadata) || len(r.Metadata) > maxMetadata {
		response.Metadata = json.RawMessage("{}")
	}
	if r.TopLogprobs != nil {
		response.TopLogprobs = *r.TopLogprobs
	}
	return response
}

// responseUsage returns the usage of an answer, or nil (null) if tokens cannot be counted.
func responseUsage(a *chat.Answer) *ResponseUsage {
	u := usageOf(a)
	if u == nil {
		return nil
	}
	return &ResponseUsage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
}

func newMessage(id, status string, content ...OutputText) OutputItem {
	content = append([]OutputText{}, content...) // encodes no content as [], not null
	return OutputItem{ID: id, Type: "message", Status: status, Role: "assistant", Content: &content}
}

func newFunctionCall(id, status string, call ToolCall) OutputItem {
	return OutputItem{
		ID:        id,
		Type:      "function_call",
		Status:    status,
		CallID:    call.ID,
		Name:      call.Function.Name,
		Arguments: &call.Function.Arguments,
	}
}

func newOutputText(text string, logprobs *TokenLogprobs) OutputText {
	out := OutputText{Type: "output_text", Text: text, Annotations: []struct{}{}, Logprobs: []TokenLogprob{}}
	if logprobs != nil {
		out.Logprobs = logprobs.Content
	}
	return out
}
