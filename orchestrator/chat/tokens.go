package chat

import (
	"context"
	"fmt"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/fault"
	"retort/tokenizers"
)

// CountTokens returns the number of tokens of a conversation's prompt, images included. A model with a tokenizer is not
// called. The engine of any other model reads the prompt and writes one token.
func (s *Service) CountTokens(ctx context.Context, c Conversation) (int, error) {
	m, err := s.find(c.Model)
	if err != nil {
		return 0, err
	}
	if m.tokenizer == nil {
		return s.countByEngine(ctx, m, c)
	}
	images := len(imagesOf(c.Messages))
	text, err := s.prompt(m, c, images)
	if err == nil {
		err = m.refuseFarTooLong(c.Field, text)
	}
	if err != nil {
		return 0, err
	}
	return m.countTokens(text) + images*m.imageTokens, nil
}

func (s *Service) countByEngine(ctx context.Context, m *Model, c Conversation) (int, error) {
	c.Sampling.MaxTokens = new(1)
	r, err := s.request(ctx, m, c)
	if err != nil {
		return 0, err
	}
	tokens := 0
	for chunk, err := range engine.Answer(ctx, m.engine, r) {
		if err != nil {
			return 0, err
		}
		tokens = max(tokens, chunk.PromptTokens)
	}
	if tokens == 0 {
		return 0, Refuse([]any{"model"},
			"The tokens of model `%s` cannot be counted: it has no tokenizer here, and its engine does not count them.", m.id)
	}
	return tokens, nil
}

// Tokens are the tokens of a prompt.
type Tokens struct {
	IDs       []int32
	MaxLength int // maximum tokens of prompt and answer together
	tokenizer *tokenizers.Tokenizer
}

// Tokenize returns the tokens that the tokenizer of a model reads in a prompt. An image is the marker of its template.
// special adds the special tokens of the tokenizer, such as bos_token, also to a prompt whose template has them. If the
// engine adds bos_token itself, a conversation has it in any case.
func (s *Service) Tokenize(c Conversation, special bool) (Tokens, error) {
	m, tokenizer, err := s.findTokenizer(c.Model)
	if err != nil {
		return Tokens{}, err
	}
	c.Model = m.id
	text := ""
	if c.Prompt != nil {
		text = *c.Prompt
	} else if text, err = s.prompt(m, c, len(imagesOf(c.Messages))); err != nil {
		return Tokens{}, err
	}
	if len(text) > m.maxLength*maxBytesPerToken {
		return Tokens{}, Refuse([]any{c.Field},
			"a text for this model must not be longer than %d bytes", m.maxLength*maxBytesPerToken)
	}
	special = special || c.Prompt == nil && m.template != nil && m.template.StripsBOS()
	e, err := tokenizer.Encode(text, tokenizers.Options{Plain: !special})
	if err != nil {
		return Tokens{}, fault.Wrap(fault.Internal, err, "model %s", m.id)
	}
	return Tokens{IDs: e.IDs, MaxLength: m.maxLength, tokenizer: tokenizer}, nil
}

// Names returns the tokens as the vocabulary writes them.
func (t Tokens) Names() []string {
	names := make([]string, len(t.IDs))
	for i, id := range t.IDs {
		names[i], _ = t.tokenizer.Token(id)
	}
	return names
}

// Detokenize returns the text of token ids, special tokens included.
func (s *Service) Detokenize(model string, ids []int32) (string, error) {
	m, tokenizer, err := s.findTokenizer(model)
	if err != nil {
		return "", err
	}
	for i, id := range ids {
		if _, ok := tokenizer.Token(id); !ok {
			return "", Refuse([]any{"tokens", i}, "token id %d is out of vocabulary", id)
		}
	}
	text, err := tokenizer.Decode(ids, false)
	if err != nil {
		return "", Refuse([]any{"model"}, "The tokenizer of model `%s` turns no ids into text: %s.", m.id, err)
	}
	return text, nil
}

// findTokenizer returns a model and its tokenizer. The id may be "" if only one model is served.
func (s *Service) findTokenizer(id string) (*Model, *tokenizers.Tokenizer, error) {
	if all := s.models.All(); id == "" && len(all) == 1 {
		id = all[0].id
	}
	if id == "" {
		return nil, nil, fault.Field("missing", nil, []any{"model"}, "Field required")
	}
	m, err := s.find(id)
	if err != nil {
		return nil, nil, err
	}
	refusal := Refuse([]any{"model"}, "The model `%s` has no tokenizer here: only its engine turns texts into tokens. "+
		"The gateway would read tokenizer.json in the model's entry.", m.id)
	if m.readTokens == nil {
		return nil, nil, refusal
	}
	tokenizer, err := m.readTokens()
	if err != nil {
		refusal.Message = fmt.Sprintf("The tokenizer of the model `%s` is not supported here.", m.id)
		refusal.Err = err
		return nil, nil, refusal
	}
	return m, tokenizer, nil
}
