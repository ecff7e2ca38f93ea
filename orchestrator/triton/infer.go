package triton

import (
	"context"
)

// Infer returns the one response to a request. A decoupled model refuses it: use Stream. Where ctx ends it returns within
// patience, so that what the caller holds is held until the server has let go of the request.
func (c *Client) Infer(ctx context.Context, r *Request) (*Response, error) {
	m, err := r.Message()
	if err != nil {
		return nil, err
	}
	var response *Response
	q := question{name: "infer", model: r.Model, inference: true, once: r.Once}
	err = c.ask(ctx, q, func(ctx context.Context, replica *Replica) error {
		call, release := outlive(ctx)
		defer release()
		answer, err := replica.service.ModelInfer(call, m)
		if replica.learn(m.ModelName, r.Once, err) {
			c.pool.suspect()
		}
		if err != nil {
			return err
		}
		response, err = responseFrom(answer)
		return err
	})
	if err != nil {
		return nil, err
	}
	return response, nil
}
