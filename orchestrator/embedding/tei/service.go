package tei

import (
	"context"

	"retort/orchestrator/dialect/teibase"
	"retort/orchestrator/embedding"
	"retort/orchestrator/fault"
)

// Service answers the endpoints with the models of the embedding API.
type Service struct {
	embedding *embedding.Service
	base      *teibase.Service
}

// New returns the endpoints over an embedding service.
func New(service *embedding.Service, limits teibase.Limits) *Service {
	s := &Service{embedding: service}
	s.base = teibase.New(s, limits)
	return s
}

// Ready returns nil if at least one model is served.
func (s *Service) Ready() error { return s.embedding.Ready() }

// TEIModel returns the model of a public id, or the default.
func (s *Service) TEIModel(id *string, hasPrompt bool) (teibase.Model, error) {
	model, err := s.embedding.Find(id, hasPrompt)
	if err != nil {
		return teibase.Model{}, err
	}
	about := model.About()
	described := teibase.Model{
		ID:      about.ID,
		Encoder: model.Encoder(),
		Type:    map[string]any{"embedding": map[string]string{"pooling": about.Pooling}},
		// As by /embed, the mode is ignored by a model with one.
		Prompts: map[string]string{"": "", "query": "", "passage": ""},
	}
	if about.TwoModes {
		described.Prompts = map[string]string{
			"":        about.Prefixes[about.DefaultMode],
			"query":   about.Prefixes["query"],
			"passage": about.Prefixes["passage"],
		}
	}
	return described, nil
}

// Embed returns one vector per input, in order.
func (s *Service) Embed(ctx context.Context, r Request) (Vectors, error) {
	texts, err := s.texts(r)
	if err != nil {
		return Vectors{}, err
	}
	answer, err := s.embed(ctx, r.Model, texts, r.Parameters, r.Dimensions)
	if err != nil {
		return Vectors{}, rename(err, func(i any) []any { return []any{"inputs", i} })
	}
	vectors := make([]any, len(answer.Data))
	for i, datum := range answer.Data {
		vectors[i] = datum.Embedding
	}
	return Vectors{vectors, answer.Usage}, nil
}

// texts returns the inputs as texts. Tokens are decoded without special tokens, which the model adds again.
func (s *Service) texts(r Request) ([]string, error) {
	texts := make([]string, len(r.Inputs))
	var model embedding.Model
	for i, input := range r.Inputs {
		texts[i] = input.Text
		if input.IDs == nil {
			continue
		}
		var err error
		if model == nil {
			if model, err = s.embedding.Find(r.Model, r.PromptName != nil); err != nil {
				return nil, err
			}
		}
		if texts[i], err = model.Encoder().Tokenizer.Decode(input.IDs, true); err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "the model `%s` cannot decode: %v", model.About().ID, err)
		}
		if texts[i] == "" {
			return nil, fault.Field("string_too_short", nil, []any{"inputs", i}, "The tokens have no text")
		}
	}
	return texts, nil
}

// Similarity returns the cosine of the source sentence and each other sentence, in order.
func (s *Service) Similarity(ctx context.Context, r SimilarityRequest) (Similarities, error) {
	var parameters Parameters
	if r.Parameters != nil {
		parameters = *r.Parameters
	}
	most := s.embedding.MaxInputs() - 1 // beside the source sentence
	if f := fault.Items(len(r.Inputs.Sentences), 1, most, "inputs", "sentences"); f != nil {
		return Similarities{}, f
	}
	texts := append([]string{r.Inputs.SourceSentence}, r.Inputs.Sentences...)
	answer, err := s.embed(ctx, r.Model, texts, parameters, nil)
	if err != nil {
		return Similarities{}, rename(err, sentencePath)
	}
	source := answer.Data[0].Embedding.([]float32)
	cosines := make([]float64, len(answer.Data)-1)
	for i := range cosines {
		cosines[i] = dot(source, answer.Data[i+1].Embedding.([]float32))
	}
	return Similarities{cosines, answer.Usage}, nil
}

// sentencePath returns the path of text i of a SimilarityRequest.
func sentencePath(i any) []any {
	if n, ok := i.(int); ok && n > 0 {
		return []any{"inputs", "sentences", n - 1}
	}
	return []any{"inputs", "source_sentence"}
}

// dot returns the dot product of two vectors, which for vectors of length 1 is their cosine.
func dot(a, b []float32) float64 {
	sum := 0.0
	for i, x := range a {
		sum += float64(x) * float64(b[i])
	}
	return sum
}

// embed calls the use case of the embedding API.
func (s *Service) embed(
	ctx context.Context, id *string, texts []string, p Parameters, dimensions *int,
) (embedding.Response, error) {
	request := embedding.Request{
		Input:          embedding.Input{Texts: texts},
		InputType:      p.PromptName,
		Dimensions:     dimensions,
		Truncate:       p.truncate(),
		EncodingFormat: "float",
	}
	request.SetLenient() // text-embeddings-inference has no modes
	if id == nil {
		name, err := s.embedding.DefaultID(p.PromptName != nil)
		if err != nil {
			return embedding.Response{}, err
		}
		id = &name
	}
	request.Model = *id
	return s.embedding.Embed(ctx, request)
}

// truncate returns embedding.Request.Truncate.
func (p *Parameters) truncate() string {
	switch {
	case p.Truncate != nil && !*p.Truncate:
		return "NONE"
	case p.TruncationDirection != nil && (*p.TruncationDirection == "left" || *p.TruncationDirection == "Left"):
		return "START"
	}
	return "END"
}

// rename renames the member of an embedding.Request at fault to the one that the client sent. path returns the path of
// text i.
func rename(err error, path func(i any) []any) error {
	f := fault.As(err)
	if len(f.Path) == 0 {
		return err
	}
	renamed := *f
	switch {
	case f.Path[0] == "input" && len(f.Path) > 1:
		renamed.Path = path(f.Path[1])
	case f.Path[0] == "input":
		renamed.Path = []any{"inputs"}
	case f.Path[0] == "input_type":
		renamed.Path = []any{"prompt_name"}
	}
	return &renamed
}
