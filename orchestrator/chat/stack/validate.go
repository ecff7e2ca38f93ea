package stack

import (
	"retort/orchestrator/chat"
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/fault"
)

// Validate checks all bounds that do not depend on the model.
func (r *Request) Validate() error {
	var problems fault.Problems
	if r.Model == "" && r.ModelID == "" {
		problems.Add(fault.Field("missing", nil, []any{"model"}, "Field required"))
	}
	problems.Add(fault.NotEmpty(len(r.Messages), "messages"))
	problems.AddEach(len(r.Messages), func(i int) *fault.Error {
		if f := r.Messages[i].check(); f != nil {
			return f.Under("messages", i)
		}
		return nil
	})
	if r.Tools {
		problems.Add(chat.Refuse([]any{"tools"}, "tools are not supported by this service"))
	}
	if chat.IsSet(r.ResponseFormat) {
		problems.Add(chat.Refuse([]any{"response_format"},
			"response_format is not supported: guided decoding is not enabled for this service"))
	}
	if r.Logprobs != nil && r.Logprobs.TopK != nil {
		problems.Add(fault.Between(*r.Logprobs.TopK, 0, 20, "logprobs", "top_k"))
	}
	r.Sampling.check(&problems)
	return problems.Err()
}

func (m *Message) check() *fault.Error {
	switch {
	case m.Role == "ipython" || m.Role == "tool":
		return chat.Refuse([]any{"role"},
			"messages of role %q are not supported: this service calls no tools", m.Role)
	case bool(m.ToolCalls):
		return chat.Refuse([]any{"tool_calls"}, "tool calls are not supported by this service")
	}
	if f := fault.OneOf(m.Role, []string{"system", "user", "assistant"}, "role"); f != nil {
		return f
	}
	return chat.CheckContent(m.Role, m.Content)
}

// check checks all settings, also those that the strategy does not use.
func (s *Sampling) check(problems *fault.Problems) {
	if s == nil {
		return
	}
	add := func(faults ...*fault.Error) {
		for _, f := range faults {
			if f != nil {
				problems.Add(f.Under("sampling_params"))
			}
		}
	}
	add(chat.CheckSampling(engine.Sampling{
		N:                 1,
		Temperature:       s.temperature(),
		TopP:              s.topP(),
		TopK:              s.topK(),
		RepetitionPenalty: s.RepetitionPenalty,
	})...)
	add(s.Stop.Check(), chat.AtLeast(s.MaxTokens, 0, "max_tokens"))
	if s.Strategy.Type == "top_k" && s.topK() == nil {
		add(fault.Field("missing", nil, []any{"top_k"}, "Field required"))
	}
}
