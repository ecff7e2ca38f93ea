package chat

import (
	"context"
	"encoding/json"
	"strings"

	"retort/orchestrator/gateway"
	"retort/orchestrator/telemetry"
	"retort/orchestrator/wire"
)

// Stops is one stop string or several.
type Stops wire.Strings

// UnmarshalJSON decodes "a" or ["a", "b"].
func (s *Stops) UnmarshalJSON(data []byte) error { return (*wire.Strings)(s).UnmarshalJSON(data) }

// Streams reports whether the answer is wanted as events.
func (r CompletionRequest) Streams() bool { return r.Stream != nil && *r.Stream }

// conversation is what r asks for.
func (r CompletionRequest) conversation() Conversation {
	c := Conversation{
		Model: r.Model, Stream: r.Streams(),
		Continue: isTrue(r.ContinueFinalMessage),
		Closed:   r.AddGenerationPrompt != nil && !*r.AddGenerationPrompt,
		Sampling: Sampling{
			N: 1, MaxTokens: r.MaxTokens, MinTokens: r.MinTokens,
			Temperature: r.Temperature, TopP: r.TopP, TopK: r.TopK, MinP: r.MinP,
			PresencePenalty: r.PresencePenalty, FrequencyPenalty: r.FrequencyPenalty, RepetitionPenalty: r.RepetitionPenalty,
			Seed: r.Seed, Stop: r.Stop, StopTokenIDs: r.StopTokenIDs, IgnoreEOS: r.IgnoreEOS,
			IncludeStop: isTrue(r.IncludeStop), SkipSpecialTokens: r.SkipSpecialTokens,
		},
	}
	if r.N != nil {
		c.Sampling.N = *r.N
	}
	if r.MaxCompletionTokens != nil {
		c.Sampling.MaxTokens = r.MaxCompletionTokens
	}
	if isTrue(r.Logprobs) {
		top := 0
		if r.TopLogprobs != nil {
			top = *r.TopLogprobs
		}
		c.Sampling.Logprobs = &top
	}
	for _, m := range r.Messages {
		role := m.Role
		if role == "developer" {
			role = "system" // its name before
		}
		c.Messages = append(c.Messages, Message{role, m.Content})
	}
	return c
}

func isTrue(b *bool) bool { return b != nil && *b }

// Complete answers in one piece.
func (s *Service) Complete(ctx context.Context, r CompletionRequest) (Completion, error) {
	m, p, err := s.prepare(ctx, r.conversation())
	if err != nil {
		return Completion{}, err
	}
	texts := make([]strings.Builder, p.Sampling.N)
	res := Completion{
		ID: identity("chatcmpl-"), Object: "chat.completion", Created: s.now().Unix(), Model: m.ID,
		Choices: make([]CompletionChoice, p.Sampling.N),
	}
	tally := tally{model: m, input: p.InputTokens}
	for chunk, err := range m.generate(ctx, p) {
		if err != nil {
			return Completion{}, err
		}
		tally.add(chunk)
		texts[chunk.Choice].WriteString(chunk.Text)
		choice := &res.Choices[chunk.Choice]
		choice.Logprobs = joined(choice.Logprobs, chunk.Logprobs)
		if chunk.Finish != "" {
			choice.FinishReason, choice.StopReason = chunk.Finish, chunk.Stop
		}
	}
	for i := range res.Choices {
		res.Choices[i].Index = i
		res.Choices[i].Message = AssistantMessage{Role: "assistant", Content: texts[i].String()}
	}
	res.Usage = tally.usage()
	telemetry.FromContext(ctx).AddTokens(tally.output)
	return res, nil
}

// StreamCompletion answers as events: the role of each choice, its text as it
// is written, its finish reason; then the usage, if it is asked for; then
// [DONE].
func (s *Service) StreamCompletion(ctx context.Context, r CompletionRequest, events *gateway.Events) error {
	m, p, err := s.prepare(ctx, r.conversation())
	if err != nil {
		return err
	}
	w := &completionWriter{
		events: events,
		chunk:  CompletionChunk{ID: identity("chatcmpl-"), Object: "chat.completion.chunk", Created: s.now().Unix(), Model: m.ID},
		begun:  make([]bool, p.Sampling.N),
		tally:  tally{model: m, input: p.InputTokens},
	}
	if o := r.StreamOptions; o != nil {
		w.total, w.always = isTrue(o.IncludeUsage), isTrue(o.IncludeUsage) && isTrue(o.ContinuousUsage)
	}
	for chunk, err := range m.generate(ctx, p) {
		if err == nil {
			err = w.write(chunk)
		}
		if err != nil {
			return err
		}
	}
	telemetry.FromContext(ctx).AddTokens(w.tally.output)
	return w.close()
}

// completionWriter writes the events of one answer.
type completionWriter struct {
	events *gateway.Events
	chunk  CompletionChunk // what all events share
	begun  []bool          // by choice
	tally  tally
	total  bool // usage in an event of its own
	always bool // usage in every event
}

func (w *completionWriter) write(c Chunk) error {
	w.tally.add(c)
	if !w.begun[c.Choice] {
		w.begun[c.Choice] = true
		nothing := ""
		if err := w.send(ChunkChoice{Index: c.Choice, Delta: Delta{Role: "assistant", Content: &nothing}}); err != nil {
			return err
		}
	}
	if c.Text == "" && c.Finish == "" && len(c.Logprobs) == 0 {
		return nil
	}
	choice := ChunkChoice{Index: c.Choice, Delta: Delta{Content: &c.Text}, Logprobs: joined(nil, c.Logprobs)}
	if c.Finish != "" {
		choice.FinishReason, choice.StopReason = &c.Finish, &StopReason{c.Stop}
	}
	return w.send(choice)
}

func (w *completionWriter) send(choice ChunkChoice) error {
	chunk := w.chunk
	chunk.Choices = []ChunkChoice{choice}
	if w.always {
		chunk.Usage = w.tally.usage()
	}
	return w.events.Send(chunk)
}

func (w *completionWriter) close() error {
	if usage := w.tally.usage(); w.total && usage != nil {
		chunk := w.chunk
		chunk.Choices, chunk.Usage = []ChunkChoice{}, usage
		if err := w.events.Send(chunk); err != nil {
			return err
		}
	}
	return w.events.SendText(doneMark)
}

// doneMark ends a stream of events.
const doneMark = "[DONE]"

// tally counts the tokens of an answer: as the engine says, else with the
// model's tokenizer.
type tally struct {
	model  *Model
	input  int
	output int
	said   bool // the engine counts
	texts  []strings.Builder
}

func (t *tally) add(c Chunk) {
	if c.InputTokens > 0 && c.Choice == 0 {
		t.input = c.InputTokens
	}
	if c.Tokens > 0 {
		t.said = true
		t.output += c.Tokens
		return
	}
	if t.said || t.model.tokenizer == nil {
		return
	}
	for len(t.texts) <= c.Choice {
		t.texts = append(t.texts, strings.Builder{})
	}
	t.texts[c.Choice].WriteString(c.Text)
}

// usage is nil when nothing could be counted.
func (t *tally) usage() *Usage {
	if !t.said {
		t.output = 0
		for i := range t.texts {
			t.output += t.model.count(t.texts[i].String())
		}
	}
	if t.input == 0 && t.output == 0 {
		return nil
	}
	return &Usage{PromptTokens: t.input, CompletionTokens: t.output, TotalTokens: t.input + t.output}
}

// joined adds log probabilities in the form of the API.
func joined(to *TokenLogprobs, more []Logprob) *TokenLogprobs {
	if len(more) == 0 {
		return to
	}
	if to == nil {
		to = &TokenLogprobs{}
	}
	for _, l := range more {
		token := TokenLogprob{Token: l.Token, Logprob: floored(l.Logprob), Bytes: bytesOf(l.Token), TopLogprobs: []TopLogprob{}}
		for _, other := range l.Top {
			token.TopLogprobs = append(token.TopLogprobs, TopLogprob{other.Token, floored(other.Logprob), bytesOf(other.Token)})
		}
		to.Content = append(to.Content, token)
	}
	return to
}

// floored keeps minus infinity out of JSON, as vLLM does.
func floored(logprob float64) float64 { return max(logprob, -9999) }

func bytesOf(s string) []int {
	raw := make([]int, len(s))
	for i := range len(s) {
		raw[i] = int(s[i])
	}
	return raw
}

// given reports whether a member is there with a value other than null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }
