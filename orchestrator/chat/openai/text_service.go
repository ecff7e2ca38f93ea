package openai

import (
	"context"

	"retort/orchestrator/chat"
)

// CompleteText answers text completions in one piece, one prompt after the other.
func (s *Service) CompleteText(ctx context.Context, r TextRequest) (Text, error) {
	text := s.newText()
	for i, conversation := range r.conversations() {
		answer, err := s.chat.Answer(ctx, conversation)
		if err != nil {
			return Text{}, err
		}
		outcomes, err := gather(answer)
		if err != nil {
			return Text{}, err
		}
		for _, o := range outcomes {
			text.Choices = append(text.Choices, TextChoice{
				Index: len(text.Choices), Text: r.echoed(i) + o.text, Logprobs: textLogprobs(o.logprobs), FinishReason: &o.finish, StopReason: o.stop,
			})
		}
		text.Model = answer.Model
		text.MaxTokens = max(text.MaxTokens, answer.Cut)
		text.Usage = text.Usage.plus(usageOf(answer))
	}
	return text, nil
}

func (s *Service) newText() Text {
	return Text{ID: "cmpl-" + randomHex(), Object: "text_completion", Created: s.now().Unix(), Choices: []TextChoice{}}
}

// plus adds what could be counted.
func (u *Usage) plus(more *Usage) *Usage {
	if u == nil || more == nil {
		return more
	}
	return &Usage{
		PromptTokens:     u.PromptTokens + more.PromptTokens,
		CompletionTokens: u.CompletionTokens + more.CompletionTokens,
		TotalTokens:      u.TotalTokens + more.TotalTokens,
	}
}

// StreamText answers text completions as events, each of them a Text, one prompt after the other; then the usage, if it
// is asked for.
func (s *Service) StreamText(ctx context.Context, r TextRequest, send func(event any) error) error {
	event := s.newText()
	var usage *Usage
	before := 0 // choices of the prompts before
	for i, conversation := range r.conversations() {
		answer, err := s.chat.Answer(ctx, conversation)
		if err != nil {
			return err
		}
		event.Model = answer.Model
		if err := streamPrompt(answer, event, before, r.echoed(i), send); err != nil {
			return err
		}
		before += answer.Choices
		usage = usage.plus(usageOf(answer))
	}
	if o := r.StreamOptions; o == nil || !isTrue(o.IncludeUsage) || usage == nil {
		return nil
	}
	event.Usage = usage
	return send(event)
}

// streamPrompt sends the answers to one prompt.
func streamPrompt(answer *chat.Answer, event Text, before int, echo string, send func(event any) error) error {
	begun := make([]bool, answer.Choices)
	for chunk, err := range answer.Chunks() {
		if err != nil {
			return err
		}
		choice := TextChoice{Index: before + chunk.Choice, Text: chunk.Text, Logprobs: textLogprobs(joined(nil, chunk.Logprobs)), StopReason: chunk.Stop}
		if chunk.Finish != "" {
			choice.FinishReason = &chunk.Finish
		}
		if !begun[chunk.Choice] {
			begun[chunk.Choice] = true
			choice.Text = echo + choice.Text
		}
		if choice.Text == "" && chunk.Finish == "" && choice.Logprobs == nil {
			continue
		}
		event.Choices = []TextChoice{choice}
		if err := send(event); err != nil {
			return err
		}
	}
	return nil
}
