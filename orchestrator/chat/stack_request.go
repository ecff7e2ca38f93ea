package chat

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"

	"retort/orchestrator/fault"
	"retort/orchestrator/wire"
)

// StackContent is a string, one image, or a list of strings and parts.
type StackContent []Part

// UnmarshalJSON decodes the forms of both generations.
func (c *StackContent) UnmarshalJSON(data []byte) error {
	value := jsontext.Value(data)
	if value.Kind() == '[' {
		parts, err := partsOf(value, stackPart)
		*c = parts
		return err
	}
	part, mismatch := stackPart(value)
	if mismatch != nil {
		return mismatch
	}
	*c = StackContent{part}
	return nil
}

// stackPart decodes "text", {"type": "text", "text": …} or an image:
// {"image": {"uri": …}}, {"type": "image", "image": {"url": {"uri": …}}} or
// {"type": "image", "image": {"data": …}}; the newest forms also without the
// member image.
func stackPart(value jsontext.Value) (Part, *wire.Mismatch) {
	if value.Kind() == '"' {
		text, err := stringOf(value)
		if err != nil {
			return Part{}, wire.NotString.At()
		}
		return Part{Text: text}, nil
	}
	members, mismatch := membersOf(value)
	if mismatch != nil {
		return Part{}, mismatch
	}
	var path []any
	switch {
	case known(members["type"], "text"):
		text, mismatch := textOf(members, "text")
		return Part{Text: text}, mismatch
	case members["image"].Kind() != 0:
		path = []any{"image"}
		if members, mismatch = membersOf(members["image"]); mismatch != nil {
			mismatch.Path = path
			return Part{}, mismatch
		}
	case !known(members["type"], "image"):
		return Part{}, notOneOf("type", "'text' or 'image'")
	}
	source, mismatch := stackSource(members)
	if mismatch != nil {
		mismatch.Path = append(path, mismatch.Path...)
		return Part{}, mismatch
	}
	return Part{Image: source}, nil
}

func stackSource(members map[string]jsontext.Value) (*Source, *wire.Mismatch) {
	if members["data"].Kind() != 0 && members["data"].Kind() != 'n' {
		data, mismatch := textOf(members, "data")
		return &Source{Base64: data}, mismatch
	}
	if members["url"].Kind() == '{' {
		inner, mismatch := membersOf(members["url"])
		if mismatch != nil {
			return nil, mismatch
		}
		uri, mismatch := textOf(inner, "uri")
		if mismatch != nil {
			mismatch.Path = append([]any{"url"}, mismatch.Path...)
		}
		return &Source{URL: uri}, mismatch
	}
	name := "uri"
	if members["url"].Kind() == '"' {
		name = "url"
	}
	uri, mismatch := textOf(members, name)
	return &Source{URL: uri}, mismatch
}

// Strategy is greedy, top_p or top_k: a name, or in the newer form an object
// with the strategy's own settings.
type Strategy struct {
	Type        string
	Temperature *float64
	TopP        *float64
	TopK        *int
}

// UnmarshalJSON decodes "greedy" or {"type": "top_p", "top_p": 0.9, …}.
func (s *Strategy) UnmarshalJSON(data []byte) error {
	var object struct {
		Type        string   `json:"type"`
		Temperature *float64 `json:"temperature"`
		TopP        *float64 `json:"top_p"`
		TopK        *int     `json:"top_k"`
	}
	err := json.Unmarshal(data, &object.Type)
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		err = json.Unmarshal(data, &object)
	}
	switch {
	case err != nil:
		return &wire.Mismatch{Rule: "value_error", Message: "Input should be a sampling strategy: greedy, top_p or top_k"}
	case object.Type != "greedy" && object.Type != "top_p" && object.Type != "top_k":
		return &wire.Mismatch{Rule: "literal_error", Message: "Input should be 'greedy', 'top_p' or 'top_k'"}
	}
	*s = Strategy(object)
	return nil
}

// conversation is what r asks for. Without a strategy the answer is greedy.
func (r StackRequest) conversation() Conversation {
	c := Conversation{Model: r.Model, Stream: r.Streams(), Sampling: Sampling{N: 1}}
	if c.Model == "" {
		c.Model = r.ModelID
	}
	if r.Logprobs != nil {
		top := 0
		if r.Logprobs.TopK != nil {
			top = *r.Logprobs.TopK
		}
		c.Sampling.Logprobs = &top
	}
	for _, m := range r.Messages {
		parts := append([]Part(m.Content), m.Context...)
		c.Messages = append(c.Messages, Message{m.Role, parts})
	}
	sampling := r.Sampling
	if sampling == nil {
		sampling = &StackSampling{}
	}
	sampling.into(&c.Sampling)
	return c
}

func (s *StackSampling) into(out *Sampling) {
	if s.MaxTokens != nil && *s.MaxTokens > 0 {
		out.MaxTokens = s.MaxTokens
	}
	out.Stop, out.RepetitionPenalty = s.Stop, s.RepetitionPenalty
	switch s.Strategy.Type {
	case "top_p":
		out.Temperature = first(s.Strategy.Temperature, s.Temperature)
		out.TopP = first(set(s.Strategy.TopP), set(s.TopP), new(0.95))
	case "top_k":
		out.Temperature = first(s.Strategy.Temperature, s.Temperature)
		out.TopK = first(set(s.Strategy.TopK), set(s.TopK))
	default:
		out.Temperature = new(0.0)
	}
}

// set is nil for 0, which the older form writes where nothing is meant.
func set[T int | float64](value *T) *T {
	if value == nil || *value == 0 {
		return nil
	}
	return value
}

func first[T any](values ...*T) *T {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// Validate checks what needs no model to be known.
func (r *StackRequest) Validate() error {
	var checks []*fault.Error
	if r.Model == "" && r.ModelID == "" {
		checks = append(checks, fault.Field("missing", nil, []any{"model"}, "Field required"))
	}
	checks = append(checks, fault.NotEmpty(len(r.Messages), "messages"))
	for i, m := range r.Messages {
		checks = append(checks, m.validate().at("messages", i))
	}
	if len(r.Tools) > 0 {
		checks = append(checks, refuse(nil, []any{"tools"}, "tools are not supported by this service"))
	}
	if given(r.ResponseFormat) {
		checks = append(checks, refuse(nil, []any{"response_format"}, "response_format is not supported: guided decoding is not enabled for this service"))
	}
	if r.Logprobs != nil && r.Logprobs.TopK != nil {
		checks = append(checks, fault.Between(*r.Logprobs.TopK, 0, 20, "logprobs", "top_k"))
	}
	return fault.Join(append(checks, r.Sampling.validate()...)...)
}

func (m StackMessage) validate() problem {
	switch {
	case m.Role == "ipython" || m.Role == "tool":
		return problem{refuse(m.Role, []any{"role"}, "messages of role %q are not supported: this service calls no tools", m.Role)}
	case len(m.ToolCalls) > 0:
		return problem{refuse(nil, []any{"tool_calls"}, "tool calls are not supported by this service")}
	}
	if f := fault.OneOf(m.Role, []string{"system", "user", "assistant"}, "role"); f != nil {
		return problem{f}
	}
	return problem{content(m.Role, m.Content)}
}

func (s *StackSampling) validate() []*fault.Error {
	if s == nil {
		return nil
	}
	like := CompletionRequest{
		Temperature:       first(s.Strategy.Temperature, s.Temperature),
		TopP:              first(set(s.Strategy.TopP), set(s.TopP)),
		TopK:              first(set(s.Strategy.TopK), set(s.TopK)),
		RepetitionPenalty: s.RepetitionPenalty, Stop: s.Stop,
	}
	var checks []*fault.Error
	for _, f := range append(like.sampling(), atLeast(s.MaxTokens, 0, "max_tokens")) {
		checks = append(checks, problem{f}.at("sampling_params"))
	}
	if s.Strategy.Type == "top_k" && like.TopK == nil {
		checks = append(checks, fault.Field("missing", nil, []any{"sampling_params", "top_k"}, "Field required"))
	}
	return checks
}
