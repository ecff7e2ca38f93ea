package chat

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/chat/prompt"
	"retort/orchestrator/chat/vision"
	"retort/orchestrator/fault"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/triton"
)

// Service is the chat API over the models that Triton serves now.
type Service struct {
	config Config
	models *triton.Catalog[*Model]
	images *vision.Loader
	now    func() time.Time
}

// New returns the service over a catalog of models.
func New(config Config, images *vision.Loader, models *triton.Catalog[*Model]) *Service {
	return &Service{config: config, models: models, images: images, now: time.Now}
}

// Ready returns nil when at least one model can serve.
func (s *Service) Ready() error { return s.models.Ready() }

// Models lists the public ids of the models served now.
func (s *Service) Models() []string { return s.models.IDs() }

// prepare turns a conversation into a prompt for a model.
func (s *Service) prepare(ctx context.Context, c Conversation) (*Model, Prompt, error) {
	m, err := s.find(c.Model)
	if err != nil {
		return nil, Prompt{}, err
	}
	c.Sampling.N = max(1, c.Sampling.N)
	if f := fault.Between(c.Sampling.N, 1, s.config.MaxChoices, "n"); f != nil {
		return nil, Prompt{}, f
	}
	if f := fault.Items(len(c.Messages), 1, s.config.MaxMessages, "messages"); f != nil {
		return nil, Prompt{}, f
	}
	if err := m.supports(&c.Sampling); err != nil {
		return nil, Prompt{}, err
	}
	sources := sourcesOf(c.Messages)
	if len(sources) > m.MaxImages {
		return nil, Prompt{}, &fault.Error{
			Kind: fault.Invalid, Path: []any{"messages"},
			Message: fmt.Sprintf("At most %d image(s) may be provided in one prompt.", m.MaxImages),
		}
	}
	p := Prompt{Sampling: c.Sampling, Stream: c.Stream}
	if p.Text, err = m.prompt(c, len(sources)); err != nil {
		return nil, Prompt{}, err
	}
	if err := m.fit(&p, len(sources)); err != nil { // before images are fetched
		return nil, Prompt{}, err
	}
	p.Images, err = s.load(ctx, sources)
	request := telemetry.FromContext(ctx)
	request.AddRows(1)
	request.AddTokens(p.InputTokens)
	return m, p, err
}

func (s *Service) find(id string) (*Model, error) {
	m, err := s.models.Find(id)
	if fault.KindOf(err) == fault.NotFound {
		return nil, fault.As(err).Under("model")
	}
	return m, err
}

// placed is an image with its place in the request.
type placed struct {
	source Source
	path   []any
}

func sourcesOf(messages []Message) (all []placed) {
	for i, message := range messages {
		for j, part := range message.Parts {
			if part.Image != nil {
				all = append(all, placed{*part.Image, []any{"messages", i, "content", j}})
			}
		}
	}
	return all
}

// load gets all images of a conversation, a few at a time.
func (s *Service) load(ctx context.Context, sources []placed) ([]*vision.Image, error) {
	images := make([]*vision.Image, len(sources))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(4)
	for i, from := range sources {
		work.Go(func() (err error) {
			if from.source.URL != "" || from.source.Base64 == "" {
				images[i], err = s.images.Load(ctx, from.source.URL)
			} else {
				images[i], err = s.images.LoadBase64(ctx, from.source.Base64)
			}
			if f := fault.As(err); f != nil && f.Kind == fault.Invalid {
				return f.Under(from.path...)
			}
			return err
		})
	}
	return images, work.Wait()
}

// prompt renders the conversation.
func (m *Model) prompt(c Conversation, images int) (text string, err error) {
	if m.template == nil {
		return plainQuestion(c)
	}
	messages := make([]prompt.Message, len(c.Messages))
	for i, message := range c.Messages {
		messages[i].Role = message.Role
		for _, part := range message.Parts {
			messages[i].Parts = append(messages[i].Parts, prompt.Part{Image: part.Image != nil, Text: part.Text})
		}
	}
	if c.Continue {
		text, err = m.template.Continue(messages)
	} else {
		text, err = m.template.Render(messages, !c.Closed)
	}
	if refusal, ok := err.(*prompt.Refusal); ok {
		return "", &fault.Error{Kind: fault.Invalid, Path: []any{"messages"}, Message: refusal.Message}
	}
	if err != nil {
		return "", fault.Wrap(fault.Internal, err, "model %s", m.ID)
	}
	if found := strings.Count(text, m.mark); m.mark != "" && found != images {
		return "", fault.New(fault.Internal, "the prompt of model %s has %d marks %q for %d images", m.ID, found, m.mark, images)
	}
	return text, nil
}

// plainQuestion is the prompt for a server that applies the template itself:
// it takes one question, with an instruction in front if there is one.
func plainQuestion(c Conversation) (string, error) {
	var texts []string
	for i, message := range c.Messages {
		last := i == len(c.Messages)-1
		if last != (message.Role == "user") || !last && message.Role != "system" {
			return "", &fault.Error{
				Kind: fault.Invalid, Path: []any{"messages", i, "role"}, Input: message.Role,
				Message: "This model answers single questions: a user message, after a system message if there is one.",
			}
		}
		for _, part := range message.Parts {
			if part.Image == nil && part.Text != "" {
				texts = append(texts, part.Text)
			}
		}
	}
	return strings.Join(texts, "\n"), nil
}

// fit counts the prompt where that is possible, refuses one that is too long,
// and sets how long the answer may be.
func (m *Model) fit(p *Prompt, images int) error {
	wanted := p.Sampling.MaxTokens
	room := m.MaxLength
	if m.tokenizer != nil {
		p.InputTokens = m.count(p.Text) + images*m.ImageTokens
		room -= p.InputTokens
	}
	switch {
	case room < 1 && wanted == nil:
		return overflow(m.MaxLength, p.InputTokens, 0)
	case room < 1, wanted != nil && *wanted > room && !m.Clamp && m.tokenizer != nil:
		return overflow(m.MaxLength, p.InputTokens, *wanted)
	}
	most := room
	switch {
	case wanted != nil:
		most = min(room, *wanted)
	case m.Answer > 0:
		most = min(room, m.Answer)
	}
	p.Sampling.MaxTokens = &most
	return nil
}

// overflow is the documented answer to a conversation that is too long.
func overflow(most, prompt, answer int) *fault.Error {
	text := fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). "+
		"Please reduce the length of the messages or completion.", most, prompt+answer, prompt, answer)
	if answer == 0 {
		text = fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens in the messages. "+
			"Please reduce the length of the messages.", most, prompt)
	}
	return &fault.Error{Kind: fault.Invalid, Path: []any{"messages"}, Message: text}
}

// identity returns an id that no other answer has.
func identity(prefix string) string {
	var raw [16]byte
	rand.Read(raw[:]) // never fails
	return prefix + hex.EncodeToString(raw[:])
}
