package chat

import (
	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/vision"
)

// Conversation is what a request asks for, whichever interface it came by.
type Conversation struct {
	Model    string // public id
	Messages []Message
	// Field is the member of the body that holds the conversation, which refusals of the whole conversation name.
	Field string
	// Prompt is a finished prompt in the place of messages, nil for none.
	Prompt   *string
	Sampling engine.Sampling
	// Stream says that the answer is wanted as it is written.
	Stream bool
	// Continue has the model go on with the last message.
	Continue bool
	// Tools says that the model may call tools if it sees fit.
	Tools bool
	// Closed leaves out the mark that begins the assistant's answer.
	Closed bool
}

// Message is one turn.
type Message struct {
	Role  string // "system", "user" or "assistant"
	Parts []Part // in their order
	Place []any  // path of the message in the body, for faults
}

// Part is a text or an image.
type Part struct {
	Text  string
	Image *Source // nil for a text
}

// Source is where an image comes from.
type Source = vision.Source
