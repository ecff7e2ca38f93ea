package openai

import (
	"context"
	"math"

	"retort/orchestrator/chat"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/fault"
)

// maxTokenIDs is the maximum number of ids in a DetokenizeRequest.
const maxTokenIDs = 1 << 18

// TokenizeRequest is the body of POST /tokenize, in vLLM's form: a prompt, or the messages of a conversation.
type TokenizeRequest struct {
	Model    string    `json:"model"` // default: the only model
	Prompt   *string   `json:"prompt"`
	Messages []Message `json:"messages"`

	AddSpecialTokens *bool `json:"add_special_tokens"` // default: true for a prompt, false for messages
	ReturnTokenStrs  *bool `json:"return_token_strs"`

	// With messages only.
	AddGenerationPrompt  *bool          `json:"add_generation_prompt"` // default true
	ContinueFinalMessage *bool          `json:"continue_final_message"`
	Tools                ToolList[Tool] `json:"tools"` // in the prompt of a model that may call them

	// Refused.
	ChatTemplate       *string             `json:"chat_template"`
	ChatTemplateKwargs chat.NonEmptyObject `json:"chat_template_kwargs"`
	MediaIOKwargs      chat.NonEmptyObject `json:"media_io_kwargs"`
	ProcessorKwargs    chat.NonEmptyObject `json:"mm_processor_kwargs"`
}

// Tokenized is the response of POST /tokenize.
type Tokenized struct {
	Count       int       `json:"count"`
	MaxModelLen int       `json:"max_model_len"`
	Tokens      []int32   `json:"tokens"`
	TokenStrs   *[]string `json:"token_strs"` // null unless they are requested
}

// DetokenizeRequest is the body of POST /detokenize, in vLLM's form.
type DetokenizeRequest struct {
	Model  string `json:"model"` // default: the only model
	Tokens []int  `json:"tokens" bind:"required"`
}

// Detokenized is the response of POST /detokenize.
type Detokenized struct {
	Prompt string `json:"prompt"`
}

// Validate checks what does not depend on the model.
func (r *TokenizeRequest) Validate() error {
	var problems fault.Problems
	refuseIf := chat.Refuser(&problems)
	switch {
	case r.Prompt == nil && r.Messages == nil:
		problems.Add(fault.Field("missing", nil, []any{"prompt"}, "Field required: a prompt, or messages"))
	case r.Prompt != nil && r.Messages != nil:
		refuseIf(true, "messages", "only one of prompt and messages is allowed")
	case r.Messages != nil:
		problems.Add(fault.NotEmpty(len(r.Messages), "messages"))
	}
	problems.AddEach(len(r.Messages), func(i int) *fault.Error {
		if f := r.Messages[i].check(); f != nil {
			return f.Under("messages", i)
		}
		return nil
	})
	refuseIf(isTrue(r.ContinueFinalMessage) && isTrue(r.AddGenerationPrompt),
		"continue_final_message", continuesAndAnswers)
	refuseIf(r.ChatTemplate != nil, "chat_template", unsupported, "chat_template")
	refuseIf(bool(r.ChatTemplateKwargs), "chat_template_kwargs", unsupported, "chat_template_kwargs")
	refuseIf(bool(r.MediaIOKwargs), "media_io_kwargs", unsupported, "media_io_kwargs")
	refuseIf(bool(r.ProcessorKwargs), "mm_processor_kwargs", unsupported, "mm_processor_kwargs")
	return problems.Err()
}

// Tokenize returns the tokens that a model reads in a text or a conversation.
func (s *Service) Tokenize(_ context.Context, r TokenizeRequest) (Tokenized, error) {
	special := r.Prompt != nil
	if r.AddSpecialTokens != nil {
		special = *r.AddSpecialTokens
	}
	tokens, err := s.chat.Tokenize(r.conversation(), special)
	if err != nil {
		return Tokenized{}, err
	}
	answer := Tokenized{Count: len(tokens.IDs), MaxModelLen: tokens.MaxLength, Tokens: tokens.IDs}
	if isTrue(r.ReturnTokenStrs) {
		names := tokens.Names() // which take four times the memory of the ids
		answer.TokenStrs = &names
	}
	return answer, nil
}

func (r *TokenizeRequest) conversation() chat.Conversation {
	if r.Prompt != nil {
		return chat.Conversation{Model: r.Model, Field: "prompt", Prompt: r.Prompt}
	}
	c := ChatRequest{
		Parameters:           Parameters{Model: r.Model},
		Messages:             r.Messages,
		AddGenerationPrompt:  r.AddGenerationPrompt,
		ContinueFinalMessage: r.ContinueFinalMessage,
		Tools:                r.Tools,
	}
	return c.conversation(tools.Plan{Tools: c.plan().Tools})
}

// Validate checks that the ids can be ids of tokens.
func (r *DetokenizeRequest) Validate() error {
	var problems fault.Problems
	problems.AddEach(len(r.Tokens), func(i int) *fault.Error {
		return fault.Between(r.Tokens[i], 0, math.MaxInt32, "tokens", i)
	})
	return problems.Err()
}

// Detokenize returns the text of token ids.
func (s *Service) Detokenize(_ context.Context, r DetokenizeRequest) (Detokenized, error) {
	ids := make([]int32, len(r.Tokens))
	for i, id := range r.Tokens {
		ids[i] = int32(id)
	}
	text, err := s.chat.Detokenize(r.Model, ids)
	return Detokenized{Prompt: text}, err
}
