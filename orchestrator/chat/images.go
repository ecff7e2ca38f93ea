package chat

import (
	"slices"

	"retort/orchestrator/chat/vision"
)

// PlaceImages returns parts with their images' places, which ReadParts gives from the list of parts on, continued to the body:
// path is where the list stands.
func PlaceImages(parts []Part, path ...any) []Part {
	placed := slices.Clone(parts)
	for i, part := range placed {
		if part.Image != nil {
			source := *part.Image
			source.Place = slices.Concat(path, source.Place)
			placed[i].Image = &source
		}
	}
	return placed
}

// imagesOf are the images of a conversation.
func imagesOf(messages []Message) (all []vision.Source) {
	for _, message := range messages {
		for _, part := range message.Parts {
			if part.Image != nil {
				all = append(all, *part.Image)
			}
		}
	}
	return all
}
