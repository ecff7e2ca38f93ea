package tei

import (
	"context"

	"retort/orchestrator/embedding"
	"retort/orchestrator/fault"
)

// Service answers the endpoint with the models of the embedding API.
type Service struct{ embedding *embedding.Service }

// New returns the endpoint over an embedding service.
func New(service *embedding.Service) *Service { return &Service{embedding: service} }

// Embed returns one vector per input, in order.
func (s *Service) Embed(ctx context.Context, r Request) ([]any, error) {
	request := embedding.Request{
		Input:          embedding.Input{Texts: r.Inputs},
		InputType:      r.PromptName,
		Dimensions:     r.Dimensions,
		Truncate:       r.truncate(),
		EncodingFormat: "float",
	}
	request.SetLenient() // text-embeddings-inference has no modes
	var err error
	if request.Model, err = s.model(r); err != nil {
		return nil, err
	}
	answer, err := s.embedding.Embed(ctx, request)
	if err != nil {
		return nil, renameMember(err)
	}
	vectors := make([]any, len(answer.Data))
	for i, datum := range answer.Data {
		vectors[i] = datum.Embedding
	}
	return vectors, nil
}

// model returns the public id of the model, or the default.
func (s *Service) model(r Request) (string, error) {
	if r.Model != nil {
		return *r.Model, nil
	}
	return s.embedding.DefaultID(r.PromptName != nil)
}

// truncate returns embedding.Request.Truncate.
func (r *Request) truncate() string {
	switch {
	case r.Truncate != nil && !*r.Truncate:
		return "NONE"
	case r.TruncationDirection != nil && (*r.TruncationDirection == "left" || *r.TruncationDirection == "Left"):
		return "START"
	}
	return "END"
}

// members are the names of members of embedding.Request in a Request.
var members = map[any]any{"input": "inputs", "input_type": "prompt_name"}

// renameMember renames the member at fault to the one that the client sent.
func renameMember(err error) error {
	f := fault.As(err)
	if len(f.Path) == 0 {
		return err
	}
	if name, ok := members[f.Path[0]]; ok {
		renamed := *f
		renamed.Path = append([]any{name}, f.Path[1:]...)
		return &renamed
	}
	return err
}
