package openai

import (
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
)

// newResponse returns the response to r before the model writes anything.
func (r *ResponseRequest) newResponse() Response {
	response := Response{
		Object:             "response",
		Status:             inProgress,
		Background:         isTrue(r.Background),
		Instructions:       r.Instructions,
		MaxOutputTokens:    r.MaxOutputTokens,
		MaxToolCalls:       r.MaxToolCalls,
		Model:              r.Model,
		Output:             []OutputItem{},
		ParallelToolCalls:  r.ParallelToolCalls == nil || *r.ParallelToolCalls,
		PreviousResponseID: r.PreviousResponseID,
		PromptCacheKey:     r.PromptCacheKey,
		SafetyIdentifier:   r.SafetyIdentifier,
		ServiceTier:        "default",
		Temperature:        1,
		Text:               ResponseText{Format: r.format()},
		ToolChoice:         "auto",
		Tools:              append([]ResponseTool{}, r.Tools...),
		TopP:               1,
		Truncation:         "disabled",
		User:               r.User,
		Metadata:           r.Metadata,
	}
	response.setSampling(r.sampling())
	if chat.IsSet(r.ToolChoice) {
		response.ToolChoice = r.ToolChoice
	}
	if r.Metadata == nil {
		response.Metadata = map[string]string{}
	}
	if r.TopLogprobs != nil {
		response.TopLogprobs = *r.TopLogprobs
	}
	return response
}

// setSampling sets the settings that the model applied.
func (response *Response) setSampling(s engine.Sampling) {
	for _, setting := range []struct {
		into  *float64
		value *float64
	}{
		{&response.Temperature, s.Temperature},
		{&response.TopP, s.TopP},
		{&response.PresencePenalty, s.PresencePenalty},
		{&response.FrequencyPenalty, s.FrequencyPenalty},
	} {
		if setting.value != nil {
			*setting.into = *setting.value
		}
	}
}

// responseUsage returns the usage of an answer, or nil (null) if tokens cannot be counted.
func responseUsage(a *chat.Answer) *ResponseUsage {
	u := usageOf(a)
	if u == nil {
		return nil
	}
	return &ResponseUsage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens, TotalTokens: u.TotalTokens}
}

func newMessage(id string, status Status, content ...OutputText) OutputItem {
	content = append([]OutputText{}, content...) // encodes no content as [], not null
	return OutputItem{ID: id, Type: "message", Status: status, Role: "assistant", Content: &content}
}

func newFunctionCall(id string, status Status, call ToolCall) OutputItem {
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
