package chat

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/chat/vision"
	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton/discovery"
)

// Service answers conversations with the models that Triton serves now.
type Service struct {
	config     Config
	models     *discovery.Catalog[*Model]
	images     *vision.Loader
	interfaces []Interface
}

// New returns a service over a catalog of models. It has no interface until Mount.
func New(config Config, images *vision.Loader, models *discovery.Catalog[*Model]) *Service {
	return &Service{config: config, models: models, images: images}
}

// Ready returns nil if at least one model can serve.
func (s *Service) Ready() error { return s.models.Ready() }

// Models returns the public ids of the models served now.
func (s *Service) Models() []string { return s.models.IDs() }

// ImageModels returns the public ids of the models served now that accept images.
func (s *Service) ImageModels() (ids []string) {
	for _, m := range s.models.All() {
		if m.maxImages > 0 {
			ids = append(ids, m.id)
		}
	}
	return ids
}

// MaxMessages returns the maximum number of messages in one conversation.
func (s *Service) MaxMessages() int { return s.config.MaxMessages }

// Answer prepares the answer to a conversation. Chunks runs the engine: if Answer fails, the engine has not been
// called.
func (s *Service) Answer(ctx context.Context, c Conversation) (*Answer, error) {
	m, err := s.find(c.Model)
	if err != nil {
		return nil, err
	}
	r, err := s.request(ctx, m, c)
	if err != nil {
		return nil, err
	}
	clamped := 0
	if requested := c.Sampling.MaxTokens; requested != nil && *r.Sampling.MaxTokens < *requested {
		clamped = *r.Sampling.MaxTokens
	}
	return &Answer{
		Model:            m.id,
		Choices:          r.Sampling.N,
		ClampedMaxTokens: clamped,
		ctx:              ctx,
		model:            m,
		request:          r,
		readers:          c.Plan.NewReaders(r.Sampling.N, m.tools),
		usage:            usage{model: m, prompt: r.PromptTokens},
	}, nil
}

func (s *Service) find(id string) (*Model, error) {
	m, err := s.models.Find(id)
	if fault.KindOf(err) == fault.NotFound {
		return nil, fault.As(err).Under("model")
	}
	return m, err
}

// request turns a conversation into a request to a model's engine. It loads images last, so that a request that fails
// for another reason fetches none.
func (s *Service) request(ctx context.Context, m *Model, c Conversation) (r engine.Request, err error) {
	c.Sampling = m.defaults.Fill(c.Sampling)
	if c.Plan.Optional && m.tools.HasSpecialMarker() && m.engine.Supports("skip_special_tokens") {
		c.Sampling.SkipSpecialTokens = cmp.Or(c.Sampling.SkipSpecialTokens, new(false))
	}
	r = engine.Request{Field: c.Field, Sampling: c.Sampling, Stream: c.Stream, MaxLength: m.maxLength}
	images := imagesOf(c.Messages)
	if r.Prompt, err = s.prompt(m, c, len(images)); err != nil {
		return r, err
	}
	if err := m.limitTokens(&r, len(images)); err != nil {
		return r, err
	}
	r.Images, err = s.images.Load(ctx, images)
	metered := telemetry.FromContext(ctx)
	metered.AddRows(1)
	metered.AddTokens(r.PromptTokens)
	return r, err
}

// prompt returns the prompt of a conversation that is within all limits.
func (s *Service) prompt(m *Model, c Conversation, images int) (string, error) {
	if err := s.check(m, c); err != nil {
		return "", err
	}
	if images > m.maxImages {
		return "", Refuse([]any{c.Field}, "At most %d image(s) may be provided in one prompt.", m.maxImages)
	}
	return m.render(c, images)
}

// check refuses a conversation that exceeds the limits of the settings or of the model.
func (s *Service) check(m *Model, c Conversation) error {
	if f := fault.Between(c.Sampling.N, 1, s.config.MaxChoices, "n"); f != nil {
		return f
	}
	if f := fault.Items(len(c.Messages), 1, s.config.MaxMessages, c.Field); f != nil && c.Prompt == nil {
		return f
	}
	if c.Plan.Optional && m.tools == tools.Refused {
		return Refuse([]any{"tool_choice"},
			"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set")
	}
	return m.engine.Check(&c.Sampling)
}

// List returns the models that are served now.
func (s *Service) List(context.Context) (Models, error) {
	list := Models{Object: "list", Data: []ModelCard{}}
	if err := s.models.Ready(); err != nil {
		return list, err
	}
	for _, m := range s.models.All() {
		list.Data = append(list.Data, m.card())
	}
	return list, nil
}

// Entry returns the ModelCard of a public id. It fails like a request for that model.
func (s *Service) Entry(id string) (any, error) {
	m, err := s.models.Find(id)
	if err != nil {
		return nil, err
	}
	return m.card(), nil
}

// card describes the model as vLLM does: everyone may do all that the model can.
func (m *Model) card() ModelCard {
	sum := sha256.Sum256([]byte(m.id)) // a permission id that is the same on every replica
	return ModelCard{
		ID:          m.id,
		Object:      "model",
		Created:     m.created,
		OwnedBy:     m.ownedBy,
		Root:        m.id,
		MaxModelLen: m.maxLength,
		Permission: []Permission{{
			ID:            "modelperm-" + hex.EncodeToString(sum[:16]),
			Object:        "model_permission",
			Created:       m.created,
			AllowSampling: m.engine.Supports("temperature"),
			AllowLogprobs: m.engine.Supports("logprobs"),
			AllowView:     true,
			Organization:  "*",
		}},
	}
}
