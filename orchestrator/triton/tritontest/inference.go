package tritontest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/triton"
	pb "retort/orchestrator/triton/inferencepb"
)

// ModelInfer runs a model that is not decoupled.
func (s *Server) ModelInfer(ctx context.Context, m *pb.ModelInferRequest) (*pb.ModelInferResponse, error) {
	r, v, err := s.admit(m)
	if err != nil {
		return nil, err
	}
	if v.model.Config.GetModelTransactionPolicy().GetDecoupled() {
		return nil, status.Error(codes.Unimplemented,
			"ModelInfer RPC doesn't support models with decoupled transaction policy")
	}
	return s.infer(ctx, r, v)
}

// admit finds the version for a request and checks the request against its configuration.
func (s *Server) admit(m *pb.ModelInferRequest) (*triton.Request, *version, error) {
	v, number, err := s.find(m.ModelName, m.ModelVersion)
	if err != nil {
		return nil, nil, err
	}
	r := requestFrom(m)
	s.mu.Lock()
	s.calls = append(s.calls, r)
	fail := s.fail
	s.mu.Unlock()
	if fail != nil {
		if err := fail(r); err != nil {
			return nil, nil, err
		}
	}
	r.Version = number
	return r, v, check(r, v.model.Config)
}

func (s *Server) infer(ctx context.Context, r *triton.Request, v *version) (*pb.ModelInferResponse, error) {
	if err := v.enter(ctx, r); err != nil {
		return nil, err
	}
	defer func() { <-v.permits }()
	response, err := v.model.Infer(ctx, r)
	if ctx.Err() != nil {
		return nil, status.FromContextError(ctx.Err()).Err()
	}
	if err != nil {
		return nil, v.modelError(err)
	}
	return answer(r, response)
}

// enter waits for an instance. The queue policy may bound the queue, and the time in it.
func (v *version) enter(ctx context.Context, r *triton.Request) error {
	select {
	case v.permits <- struct{}{}:
		return nil
	default:
	}
	policy := v.model.Config.GetDynamicBatching().GetDefaultQueuePolicy()
	waiting := v.waiting.Add(1)
	defer v.waiting.Add(-1)
	if policy.GetMaxQueueSize() > 0 && waiting > int64(policy.GetMaxQueueSize()) {
		return status.Error(codes.Unavailable, "[request id: <id_unknown>] Exceeds maximum queue size")
	}
	select {
	case v.permits <- struct{}{}:
		return nil
	case <-queueTimeout(r, policy):
		return status.Error(codes.Unavailable, "[request id: <id_unknown>] Request timeout expired")
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// queueTimeout fires when a request has waited too long. A request may shorten a timeout of the policy, but not set one
// if the policy has none.
func queueTimeout(r *triton.Request, policy *pb.ModelQueuePolicy) <-chan time.Time {
	limit := policy.GetDefaultTimeoutMicroseconds()
	requested, ok := r.Parameters["timeout"].(int64)
	if ok && policy.GetAllowTimeoutOverride() && uint64(requested) < limit {
		limit = uint64(requested)
	}
	if limit == 0 {
		return nil
	}
	return time.After(time.Duration(limit) * time.Microsecond)
}

// modelError turns an error of a model into Triton's.
func (v *version) modelError(err error) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return status.Errorf(codes.Internal, "Failed to process the request(s) for model '%s_0_0', message: %s",
		v.model.Name, err)
}

// answer completes a response and drops the outputs that were not requested.
func answer(r *triton.Request, response *triton.Response) (*pb.ModelInferResponse, error) {
	complete := *response
	complete.Model = r.Model
	complete.Version = r.Version
	complete.ID = r.ID
	if len(r.Outputs) > 0 {
		complete.Outputs = nil
		for _, name := range r.Outputs {
			if t, err := response.Output(name); err == nil {
				complete.Outputs = append(complete.Outputs, t)
			}
		}
	}
	return Message(&complete)
}

func invalid(format string, values ...any) error {
	return status.Error(codes.InvalidArgument, fmt.Sprintf(format, values...))
}
