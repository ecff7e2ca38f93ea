package chat

import (
	"slices"

	"retort/orchestrator/chat/engine"
	"retort/orchestrator/chat/tools"
	"retort/orchestrator/chat/vision"
)

// Conversation is a request in the form that all interfaces share.
type Conversation struct {
	Model    string // public id
	Messages []Message
	// Field is the member of the body that has the conversation. Faults of the whole conversation name it.
	Field string
	// Prompt replaces the messages and the chat template in a text completion; else nil.
	Prompt   *string
	Sampling engine.Sampling
	// Stream requests the answer in pieces as they are written.
	Stream bool
	// ContinueFinal lets the model continue the last message instead of answering it.
	ContinueFinal bool
	// Plan is how the answer calls tools.
	Plan tools.Plan
	// NoGenerationPrompt omits the template's marker that begins the assistant's answer.
	NoGenerationPrompt bool
}

// Message is one turn.
type Message struct {
	Role  string // "system", "user" or "assistant"
	Parts []Part // in their order
	Path  []any  // of the message in the body, for faults
}

// Part is a text, an image or a call.
type Part struct {
	Text   string
	Image  *Source // nil for a text
	Call   *Call   // nil for a text
	Result *Result // of a tool to which the part belongs, the same for all parts of one result; else nil
}

// Source is the origin of an image.
type Source = vision.Source

// PrefixImagePaths returns a copy of parts whose images have their Path in the body. prefix is the path of the list
// that ReadParts has decoded.
func PrefixImagePaths(parts []Part, prefix ...any) []Part {
	copied := slices.Clone(parts)
	for i, part := range copied {
		if part.Image != nil {
			source := *part.Image
			source.Path = slices.Concat(prefix, source.Path)
			copied[i].Image = &source
		}
	}
	return copied
}

// imagesOf returns the images of a conversation in their order.
func imagesOf(messages []Message) (images []vision.Source) {
	for _, message := range messages {
		for _, part := range message.Parts {
			if part.Image != nil {
				images = append(images, *part.Image)
			}
		}
	}
	return images
}
