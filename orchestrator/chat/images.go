package chat

import "retort/orchestrator/chat/vision"

// imagesOf are the images of a conversation, each with its place in the request.
func imagesOf(messages []Message) (all []vision.Source) {
	for i, message := range messages {
		for j, part := range message.Parts {
			if part.Image != nil {
				source := *part.Image
				source.Place = []any{"messages", i, "content", j}
				all = append(all, source)
			}
		}
	}
	return all
}
