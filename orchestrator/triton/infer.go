package triton

import (
	"context"
)

// Infer returns the one response to a request. A decoupled model refuses it: use Stream.
func (c *Client) Infer(ctx context.Context, r *Request) (*Response, error) {
	m, err := r.Message()
	if err != nil {
		return nil, err
	}
	var response *Response
	q := question{name: "infer", model: r.Model, inference: true, once: r.Once}
	err = c.ask(ctx, q, func(ctx context.Context, replica *replica) error {
		answer, err := replica.service.ModelInfer(ctx, m)
		if replica.learn(m, err) {
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
