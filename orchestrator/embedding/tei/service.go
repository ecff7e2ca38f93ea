package tei

import (
	"context"

	"retort/orchestrator/embedding"
	"retort/orchestrator/fault"
)

// Service answers the interface over the embedding API's models.
type Service struct{ embedding *embedding.Service }

// New returns the interface of an embedding service.
func New(service *embedding.Service) *Service { return &Service{embedding: service} }

// Embed returns one vector per input, in order.
func (s *Service) Embed(ctx context.Context, r Request) ([]any, error) {
	asked := embedding.Request{
		Input:          embedding.Input{Texts: r.Inputs},
		InputType:      r.PromptName,
		Dimensions:     r.Dimensions,
		Truncate:       r.truncate(),
		EncodingFormat: "float",
	}
	asked.SetLenient() // these clients know nothing of modes either
	var err error
	if asked.Model, err = s.model(r); err != nil {
		return nil, err
	}
	answer, err := s.embedding.Embed(ctx, asked)
	if err != nil {
		return nil, renamed(err)
	}
	vectors := make([]any, len(answer.Data))
	for i, datum := range answer.Data {
		vectors[i] = datum.Embedding
	}
	return vectors, nil
}

// model is the one named, or the first of those that the request is made for.
func (s *Service) model(r Request) (string, error) {
	if r.Model != nil {
		return *r.Model, nil
	}
	return s.embedding.Plain(r.PromptName != nil)
}

// truncate is the end that is cut, in the words of the embedding API.
func (r *Request) truncate() string {
	switch {
	case r.Truncate != nil && !*r.Truncate:
		return "NONE"
	case r.TruncationDirection != nil && (*r.TruncationDirection == "left" || *r.TruncationDirection == "Left"):
		return "START"
	}
	return "END"
}

// members are the names that the embedding API's members have here.
var members = map[any]any{"input": "inputs", "input_type": "prompt_name"}

// renamed has a failure blame the member that the client sent.
func renamed(err error) error {
	f := fault.As(err)
	if len(f.Path) == 0 {
		return err
	}
	if name, ok := members[f.Path[0]]; ok {
		moved := *f
		moved.Path = append([]any{name}, f.Path[1:]...)
		return &moved
	}
	return err
}
