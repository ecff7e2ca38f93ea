package openai

import (
	"context"

	"retort/orchestrator/chat"
)

// CompleteText answers text completions in one piece, one prompt after the other.
func (s *Service) CompleteText(ctx context.Context, r TextRequest) (TextCompletion, error) {
	completion := s.newTextCompletion()
	for i, conversation := range r.conversations() {
		answer, err := s.chat.Answer(ctx, conversation)
		if err != nil {
			return TextCompletion{}, err
		}
		outcomes, err := collect(answer)
		if err != nil {
			return TextCompletion{}, err
		}
		for _, o := range outcomes {
			logprobs, _ := textLogprobs(o.logprobs, 0)
			completion.Choices = append(completion.Choices, TextChoice{
				Index:        len(completion.Choices),
				Text:         r.echo(i) + o.text,
				Logprobs:     logprobs,
				FinishReason: &o.finish,
				StopReason:   o.stop,
			})
		}
		completion.Model = answer.Model
		completion.MaxTokens = max(completion.MaxTokens, answer.ClampedMaxTokens)
		completion.Usage = completion.Usage.plus(usageOf(answer))
	}
	return completion, nil
}

func (s *Service) newTextCompletion() TextCompletion {
	return TextCompletion{
		ID:      "cmpl-" + randomHex(),
		Object:  "text_completion",
		Created: s.now().Unix(),
		Choices: []TextChoice{},
	}
}

// StreamText answers text completions with events, each a [TextCompletion], one prompt after the other, and after all
// prompts the usage if the request includes it.
func (s *Service) StreamText(ctx context.Context, r TextRequest, send func(event any) error) error {
	event := s.newTextCompletion()
	usageAtEnd, usageInEvery := r.StreamOptions.usage()
	var usage *Usage
	firstIndex := 0 // of the prompt's choices
	for i, conversation := range r.conversations() {
		answer, err := s.chat.Answer(ctx, conversation)
		if err != nil {
			return err
		}
		event.Model = answer.Model
		sendWithUsage := func(event TextCompletion) error {
			if usageInEvery {
				event.Usage = usage.plus(usageOf(answer))
			}
			return send(event)
		}
		if err := streamPrompt(answer, event, firstIndex, r.echo(i), sendWithUsage); err != nil {
			return err
		}
		firstIndex += answer.Choices
		usage = usage.plus(usageOf(answer))
	}
	if !usageAtEnd || usage == nil {
		return nil
	}
	event.Usage = usage
	return send(event)
}

// streamPrompt sends the choices of one prompt, each after echo.
func streamPrompt(
	answer *chat.Answer, event TextCompletion, firstIndex int, echo string, send func(TextCompletion) error,
) error {
	started := make([]bool, answer.Choices)
	offsets := make([]int, answer.Choices) // of the next token of each choice, in characters
	for chunk, err := range answer.Chunks() {
		if err != nil {
			return err
		}
		choice := TextChoice{Index: firstIndex + chunk.Choice, Text: chunk.Text, StopReason: chunk.Stop}
		// Offsets are not those of the text sent: that of a token may be held back.
		choice.Logprobs, offsets[chunk.Choice] = textLogprobs(
			appendLogprobs(nil, chunk.Logprobs), offsets[chunk.Choice])
		if chunk.Finish != "" {
			choice.FinishReason = &chunk.Finish
		}
		if !started[chunk.Choice] {
			started[chunk.Choice] = true
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
