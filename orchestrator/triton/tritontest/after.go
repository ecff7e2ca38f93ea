package tritontest

import (
	"context"
	"sync/atomic"

	"retort/orchestrator/triton"
)

// After lets a model answer so often, then does something else in its place.
func After(calls int64, model Model, then func(context.Context) error) Model {
	var done atomic.Int64
	infer := model.Infer
	model.Infer = func(ctx context.Context, r *triton.Request) (*triton.Response, error) {
		if done.Add(1) > calls {
			return nil, then(ctx)
		}
		return infer(ctx, r)
	}
	return model
}
