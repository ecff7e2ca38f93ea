package tritontest

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc/status"

	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
)

// ModelStreamInfer runs the requests of a stream concurrently, as Triton does. Errors are messages of the stream, which
// stays open.
func (s *Server) ModelStreamInfer(stream pb.GRPCInferenceService_ModelStreamInferServer) error {
	ctx, cancel := context.WithCancel(stream.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var mu sync.Mutex
	send := func(m *pb.ModelStreamInferResponse) error {
		mu.Lock()
		defer mu.Unlock()
		return stream.Send(m)
	}
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			running.Wait()
			return status.FromContextError(ctx.Err()).Err()
		}
		if err != nil {
			return err
		}
		running.Go(func() { s.answerStream(ctx, m, send) })
	}
}

// answerStream answers one request of a stream.
func (s *Server) answerStream(
	ctx context.Context, m *pb.ModelInferRequest, send func(*pb.ModelStreamInferResponse) error,
) {
	fail := func(err error, r *pb.ModelInferResponse) {
		_ = send(&pb.ModelStreamInferResponse{ErrorMessage: status.Convert(err).Message(), InferResponse: r})
	}
	r, v, err := s.admit(m)
	if err != nil {
		fail(err, &pb.ModelInferResponse{Id: m.Id})
		return
	}
	mark := func(r *pb.ModelInferResponse, final bool) *pb.ModelInferResponse {
		if r.Parameters == nil {
			r.Parameters = make(map[string]*pb.InferParameter, 1)
		}
		r.Parameters["triton_final_response"] = &pb.InferParameter{
			ParameterChoice: &pb.InferParameter_BoolParam{BoolParam: final},
		}
		return r
	}
	if !v.model.Config.GetModelTransactionPolicy().GetDecoupled() {
		response, err := s.infer(ctx, r, v)
		if err != nil {
			fail(err, mark(&pb.ModelInferResponse{ModelName: r.Model, Id: r.ID}, true))
			return
		}
		_ = send(&pb.ModelStreamInferResponse{InferResponse: mark(response, true)})
		return
	}
	err = v.model.Stream(ctx, r, func(response *triton.Response) error {
		m, err := answer(r, response)
		if err == nil {
			err = send(&pb.ModelStreamInferResponse{InferResponse: mark(m, false)})
		}
		return errors.Join(err, ctx.Err())
	})
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		fail(err, mark(&pb.ModelInferResponse{ModelName: r.Model, Id: r.ID}, false))
	}
	if r.Parameters["triton_enable_empty_final_response"] == true {
		empty := &pb.ModelInferResponse{ModelName: r.Model, Id: r.ID}
		_ = send(&pb.ModelStreamInferResponse{InferResponse: mark(empty, true)})
	}
}
