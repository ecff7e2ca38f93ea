package chat

import (
	"slices"

	"retort/orchestrator/chat/vision"
)

// PlaceImages returns a copy of parts in which the Place of each image is its path in the body. ReadParts gives it within the
// list of parts; path is where the list is in the body.
func PlaceImages(parts []Part, path ...any) []Part {
	copied := slices.Clone(parts)
	for i, part := range copied {
		if part.Image != nil {
			source := *part.Image
			source.Place = slices.Concat(path, source.Place)
			copied[i].Image = &source
		}
	}
	return copied
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
