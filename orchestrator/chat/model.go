package chat

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/prompt"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
	"retort/tokenizers"
)

// Model is a chat model: the parameters of its entry in the model repository (see doc.go), its chat template and its
// engine.
type Model struct {
	id               string // public id
	ownedBy          string
	created          int64 // Unix time in seconds
	maxLength        int   // maximum tokens of prompt and answer together
	maxImages        int   // in one conversation
	imageTokens      int   // tokens of maxLength that one image takes
	defaultMaxTokens int   // maximum tokens of an answer if the request sets none; 0 means all that fit
	clamp            bool  // reduces max_tokens to what fits instead of refusing the request
	completions      bool  // accepts text completions
	tools            tools.Format
	defaults         engine.Defaults

	template    *prompt.Template      // nil if the engine applies the template
	imageMarker string                // appears once for each image in the prompt; "" if that is not checked
	tokenizer   *tokenizers.Tokenizer // counts the tokens of prompts and answers; nil if only the engine does
	// readTokens returns the tokenizer of Tokenize and Detokenize; nil if there is none.
	readTokens func() (*tokenizers.Tokenizer, error)
	engine     engine.Engine
}

// Opener returns the function that opens an entry of the model repository.
func Opener(client *triton.Client) func(*triton.Model) (*Model, error) {
	return func(entry *triton.Model) (*Model, error) { return open(client, entry.Read()) }
}

func open(client *triton.Client, r *triton.EntryReader) (*Model, error) {
	m := &Model{
		id:               r.PublicID(),
		ownedBy:          r.OwnedBy(),
		created:          r.Created(),
		maxLength:        r.Whole("max_model_len", 4096, 2),
		maxImages:        r.Whole("max_images", 1, 0),
		imageTokens:      r.Whole("image_tokens", 0, 0),
		defaultMaxTokens: r.Whole("default_max_tokens", 0, 0),
		clamp:            r.OneOf("completion_overflow", "refuse", "clamp") == "clamp",
		completions:      r.OneOf("completions", "true", "false") == "true",
		tools:            tools.Format(r.OneOf("tools", tools.Formats...)),
		imageMarker:      r.Text("image_token", ""),
		template:         readTemplate(r),
		engine:           engine.Open(client, r),
	}
	m.readDefaults(r)
	if r.Text("tokenizer", "") != "" {
		m.tokenizer = triton.ReadFile(r, "tokenizer", "", tokenizers.Load)
		m.readTokens = func() (*tokenizers.Tokenizer, error) { return m.tokenizer, nil }
	} else if path, err := r.File("tokenizer.json"); err == nil && isFile(path) {
		m.readTokens = sync.OnceValues(func() (*tokenizers.Tokenizer, error) { return tokenizers.Load(path) })
	}
	if err := r.Done(); err != nil {
		return nil, err
	}
	return m, nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// readDefaults reads the settings of requests that leave them out, which must be settings that a request may have.
func (m *Model) readDefaults(r *triton.EntryReader) {
	m.defaults = engine.ReadDefaults(r)
	settings := m.defaults.Fill(engine.Sampling{N: 1})
	problems := CheckSampling(settings)
	if m.engine != nil {
		problems = append(problems, fault.As(m.engine.Check(&settings)))
	}
	for _, problem := range problems {
		if problem != nil {
			r.Check(fmt.Errorf("parameter default_sampling: %s", problem.Message))
		}
	}
}

// render returns the prompt of a conversation.
func (m *Model) render(c Conversation, images int) (text string, err error) {
	if c.Prompt != nil {
		return m.completionPrompt(*c.Prompt)
	}
	var offered []prompt.Tool
	if m.template != nil && m.tools.HasCalls() {
		for _, tool := range c.Plan.Tools {
			offered = append(offered, prompt.Tool(tool))
		}
	} else {
		c.Messages = flatten(c.Messages)
	}
	if m.template == nil {
		return singleQuestion(c)
	}
	messages := m.turns(c.Messages)
	if c.ContinueFinal {
		text, err = m.template.Continue(messages, offered...)
	} else {
		text, err = m.template.Render(messages, !c.NoGenerationPrompt, offered...)
	}
	if refusal, ok := err.(*prompt.Refusal); ok {
		return "", Refuse([]any{c.Field}, "%s", refusal.Message)
	}
	if err != nil {
		return "", fault.Wrap(fault.Internal, err, "model %s", m.id)
	}
	if markers := strings.Count(text, m.imageMarker); m.imageMarker != "" && markers != images {
		return "", fault.New(fault.Internal, "the prompt of model %s has %d markers %q for %d images",
			m.id, markers, m.imageMarker, images)
	}
	return text, nil
}

// completionPrompt returns the prompt of a text completion.
func (m *Model) completionPrompt(text string) (string, error) {
	if m.template == nil || !m.completions {
		return "", Refuse([]any{"prompt"},
			"The model `%s` does not support the Completions API: its engine takes conversations.", m.id)
	}
	return text, nil
}

// singleQuestion returns the prompt for an engine that applies the template itself. It accepts one user message, after
// optional system messages.
func singleQuestion(c Conversation) (string, error) {
	var texts []string
	for i, message := range c.Messages {
		last := i == len(c.Messages)-1
		if last != (message.Role == "user") || !last && message.Role != "system" {
			return "", Refuse(append(slices.Clip(message.Path), "role"),
				"This model answers single questions: a user message, after a system message if there is one.")
		}
		for _, part := range message.Parts {
			if part.Image == nil && part.Text != "" {
				texts = append(texts, part.Text)
			}
		}
	}
	return strings.Join(texts, "\n"), nil
}
