package chat

import (
	"context"

	"golang.org/x/sync/errgroup"

	"retort/orchestrator/chat/vision"
	"retort/orchestrator/fault"
)

// imageAt is an image with its place in the request.
type imageAt struct {
	source Source
	path   []any
}

func imagesOf(messages []Message) (all []imageAt) {
	for i, message := range messages {
		for j, part := range message.Parts {
			if part.Image != nil {
				all = append(all, imageAt{*part.Image, []any{"messages", i, "content", j}})
			}
		}
	}
	return all
}

// load gets all images of a conversation, a few at a time. What is wrong with
// one is told with its place.
func (s *Service) load(ctx context.Context, from []imageAt) ([]*vision.Image, error) {
	const atOnce = 4
	images := make([]*vision.Image, len(from))
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(atOnce)
	for i, image := range from {
		work.Go(func() (err error) {
			images[i], err = s.loadOne(ctx, image.source)
			if f := fault.As(err); f != nil && f.Kind == fault.Invalid {
				return f.Under(image.path...)
			}
			return err
		})
	}
	return images, work.Wait()
}

func (s *Service) loadOne(ctx context.Context, from Source) (*vision.Image, error) {
	if from.Base64 != "" && from.URL == "" {
		return s.images.LoadBase64(ctx, from.Base64)
	}
	return s.images.Load(ctx, from.URL)
}
