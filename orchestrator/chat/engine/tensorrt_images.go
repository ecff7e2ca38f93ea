package engine

import (
	"context"

	"retort/orchestrator/chat/vision"
	"retort/orchestrator/fault"
	"retort/orchestrator/triton"
)

// image is the one tensor with all images: pixels [1, n, h, w, 3], which the backend advises for gRPC, where the model
// takes them, else URLs.
func (t *tensorrt) image(ctx context.Context, set *vision.Set) (triton.Tensor, error) {
	if t.names.pixels == "" || !t.has(t.names.pixels) {
		if !t.has(t.names.url) {
			return triton.Tensor{}, fault.New(fault.Internal, "model %s declares no input for images that is known", t.config.Name)
		}
		urls := make([]string, len(set.All()))
		for i, img := range set.All() {
			urls[i] = img.DataURL()
		}
		return t.texts(t.names.url, urls...), nil
	}
	pixels, width, height, err := set.RGB(ctx, t.width, t.height)
	if err != nil {
		return triton.Tensor{}, err
	}
	shape := t.shape(int64(len(set.All())), int64(height), int64(width), 3)
	return triton.New(t.names.pixels, shape, pixels), nil
}
