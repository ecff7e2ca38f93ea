package chat

import (
	"context"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/vision"
	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton/discovery"
)

// Service has conversations answered by the models that Triton serves now.
type Service struct {
	config     Config
	models     *discovery.Catalog[*Model]
	images     *vision.Loader
	interfaces []Interface
}

// New returns the service over a catalog of models. It answers to no interface until Mount.
func New(config Config, images *vision.Loader, models *discovery.Catalog[*Model]) *Service {
	return &Service{config: config, models: models, images: images}
}

// Ready returns nil when at least one model can serve.
func (s *Service) Ready() error { return s.models.Ready() }

// Models lists the public ids of the models served now.
func (s *Service) Models() []string { return s.models.IDs() }

// ImageModels lists the public ids of those models served now that take images.
func (s *Service) ImageModels() (ids []string) {
	for _, m := range s.models.All() {
		if m.MaxImages > 0 {
			ids = append(ids, m.ID)
		}
	}
	return ids
}

// MaxMessages is the most messages of one conversation.
func (s *Service) MaxMessages() int { return s.config.MaxMessages }

// Answer begins the answer to a conversation. An error from here means that no engine was asked.
func (s *Service) Answer(ctx context.Context, c Conversation) (*Answer, error) {
	m, err := s.find(c.Model)
	if err != nil {
		return nil, err
	}
	p, err := s.prompt(ctx, m, c)
	if err != nil {
		return nil, err
	}
	cut := 0
	if wanted := c.Sampling.MaxTokens; wanted != nil && *p.Sampling.MaxTokens < *wanted {
		cut = *p.Sampling.MaxTokens
	}
	return &Answer{Model: m.ID, Choices: p.Sampling.N, Cut: cut, ctx: ctx, model: m, prompt: p, usage: usage{model: m, input: p.InputTokens}}, nil
}

func (s *Service) find(id string) (*Model, error) {
	m, err := s.models.Find(id)
	if fault.KindOf(err) == fault.NotFound {
		return nil, fault.As(err).Under("model")
	}
	return m, err
}

// prompt turns a conversation into a prompt for a model. What can be refused without an image is refused before images
// are fetched.
func (s *Service) prompt(ctx context.Context, m *Model, c Conversation) (p engine.Prompt, err error) {
	if err := s.check(m, &c); err != nil {
		return p, err
	}
	images := imagesOf(c.Messages)
	if len(images) > m.MaxImages {
		return p, Refuse(nil, []any{c.Field}, "At most %d image(s) may be provided in one prompt.", m.MaxImages)
	}
	p = engine.Prompt{Field: c.Field, Sampling: c.Sampling, Stream: c.Stream, MaxLength: m.MaxLength}
	if p.Text, err = m.render(c, len(images)); err != nil {
		return p, err
	}
	if err := m.fit(&p, len(images)); err != nil {
		return p, err
	}
	p.Images, err = s.images.Load(ctx, images)
	request := telemetry.FromContext(ctx)
	request.AddRows(1)
	request.AddTokens(p.InputTokens)
	return p, err
}

// check holds a conversation to the bounds of the settings and of the model.
func (s *Service) check(m *Model, c *Conversation) error {
	c.Sampling.N = max(1, c.Sampling.N)
	if f := fault.Between(c.Sampling.N, 1, s.config.MaxChoices, "n"); f != nil {
		return f
	}
	if f := fault.Items(len(c.Messages), 1, s.config.MaxMessages, c.Field); f != nil && c.Prompt == nil {
		return f
	}
	if c.Tools && !m.Tools {
		return Refuse(nil, []any{"tool_choice"}, "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set")
	}
	return m.engine.Check(&c.Sampling)
}
