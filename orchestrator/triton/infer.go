package triton

import (
	"context"

	pb "retort/orchestrator/triton/inferencepb"
)

// Infer returns the one response to a request. A decoupled model refuses it:
// use Stream.
func (c *Client) Infer(ctx context.Context, r *Request) (*Response, error) {
	m, err := r.Message()
	if err != nil {
		return nil, err
	}
	var response *Response
	err = c.call(ctx, "infer", r.Model, !r.Once, func(ctx context.Context, s pb.GRPCInferenceServiceClient) error {
		answer, err := s.ModelInfer(ctx, m)
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
