package teibase

import (
	"context"
	"maps"
	"runtime"
	"slices"

	"retort/orchestrator/encoder"
	"retort/orchestrator/fault"
	"retort/orchestrator/gateway"
)

// Model is a model of an API.
type Model struct {
	ID      string
	Encoder *encoder.Encoder
	Type    any               // Info.ModelType
	Prompts map[string]string // by name; "" is that of requests without a name
}

// API is an API whose models are encoders.
type API interface {
	// TEIModel returns the model of a public id or, if id is nil, the default for requests with a prompt or without.
	TEIModel(id *string, hasPrompt bool) (Model, error)
	// Ready returns nil if the API can serve.
	Ready() error
}

// Limits are what GET /info reports about the server.
type Limits struct {
	Requests    int // served at once
	Inputs      int // of a request
	BatchTokens int // of a call of a model
	Version     string
}

// Service answers the endpoints.
type Service struct {
	api    API
	limits Limits
}

// New returns the endpoints over an API.
func New(api API, limits Limits) *Service { return &Service{api, limits} }

// Bounds of one request, so that its answer takes at most about 20 MB. TEI refuses a text of more than 250 characters
// for each token that a model reads, 128,000 for 512 tokens.
const (
	maxTextBytes = 128 << 10
	maxIDs       = 1 << 18
)

// Info describes a model and the server.
func (s *Service) Info(_ context.Context, params gateway.Params) (Info, error) {
	var id *string
	if name := params.Query("model"); name != "" {
		id = &name
	}
	model, err := s.api.TEIModel(id, false)
	if err != nil {
		return Info{}, err
	}
	return Info{
		ModelID:               model.ID,
		ModelDtype:            "float32",
		ServedModelName:       model.ID,
		ModelType:             model.Type,
		MaxConcurrentRequests: s.limits.Requests,
		MaxInputLength:        model.Encoder.MaxTokens,
		MaxBatchTokens:        s.limits.BatchTokens,
		MaxClientBatchSize:    s.limits.Inputs,
		AutoTruncate:          true,
		TokenizationWorkers:   runtime.GOMAXPROCS(0),
		Version:               s.limits.Version,
	}, nil
}

// Tokenize returns the tokens of each text.
func (s *Service) Tokenize(ctx context.Context, r TokenizeRequest) ([][]Token, error) {
	if f := fault.Items(len(r.Inputs), 1, s.limits.Inputs, "inputs"); f != nil {
		return nil, f
	}
	model, err := s.api.TEIModel(r.Model, r.PromptName != nil)
	if err != nil {
		return nil, err
	}
	prompt, err := model.prompt(r.PromptName)
	if err != nil {
		return nil, err
	}
	special := r.AddSpecialTokens == nil || *r.AddSpecialTokens
	path := func(i int) []any { return []any{"inputs", i} }
	return encoder.Tokenize(ctx, len(r.Inputs), path, func(i int) ([]Token, error) {
		spans, err := model.Encoder.Tokenizer.Spans(prompt+r.Inputs[i], special)
		tokens := make([]Token, len(spans))
		for i, span := range spans {
			tokens[i] = Token{ID: span.ID, Text: span.Text, Special: span.Special}
			if span.Start >= 0 {
				tokens[i].Start = &spans[i].Start
				tokens[i].Stop = &spans[i].Stop
			}
		}
		return tokens, err
	})
}

// prompt returns the prompt of a name.
func (m Model) prompt(name *string) (string, error) {
	if name == nil {
		return m.Prompts[""], nil
	}
	prompt, ok := m.Prompts[*name]
	if !ok {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(m.Prompts)), func(name string) bool { return name == "" })
		return "", fault.Field("value_error", *name, []any{"prompt_name"},
			"Value error, the model `%s` has no prompt of this name; its prompts are %q", m.ID, names)
	}
	return prompt, nil
}

// Decode returns the text of each list of ids.
func (s *Service) Decode(_ context.Context, r DecodeRequest) ([]string, error) {
	if f := fault.Items(len(r.IDs), 1, s.limits.Inputs, "ids"); f != nil {
		return nil, f
	}
	model, err := s.api.TEIModel(r.Model, false)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(r.IDs))
	for i, ids := range r.IDs {
		texts[i], err = model.Encoder.Tokenizer.Decode(ids, r.SkipSpecialTokens == nil || *r.SkipSpecialTokens)
		if err != nil {
			return nil, fault.Wrap(fault.Invalid, err, "the model `%s` cannot decode: %v", model.ID, err)
		}
	}
	return texts, nil
}

// Validate checks what does not depend on the model.
func (r *TokenizeRequest) Validate() error {
	var problems fault.Problems
	if r.Model != nil {
		problems.Add(fault.Text(*r.Model, "model"))
	}
	size := 0
	for _, text := range r.Inputs {
		size += len(text)
	}
	if size > maxTextBytes {
		problems.Add(fault.Field("too_long", nil, []any{"inputs"},
			"The texts have %d bytes; those of a request may have at most %d", size, maxTextBytes))
	}
	problems.Add(fault.NotEmpty(len(r.Inputs), "inputs"))
	return problems.Err()
}

// Validate checks what does not depend on the model.
func (r *DecodeRequest) Validate() error {
	var problems fault.Problems
	if r.Model != nil {
		problems.Add(fault.Text(*r.Model, "model"))
	}
	size := 0
	for _, ids := range r.IDs {
		size += len(ids)
	}
	problems.Add(fault.NotEmpty(size, "ids"))
	return problems.Err()
}
