package triton

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "retort/orchestrator/triton/inferencepb"
)

// due returns the request to probe a model with, nil when it needs no probe. A probe that is due is taken to be under
// way until ended is called.
func (h *health) due() *pb.ModelInferRequest {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept == nil || h.probing {
		return nil
	}
	if h.sick == "" && !h.doubtful && time.Since(h.answered) < idleProbe {
		return nil
	}
	h.probing = true
	return h.kept
}

// ended notes the result of a probe with m and reports whether the model's state changed.
func (h *health) ended(m *pb.ModelInferRequest, err error) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = false
	before := h.sick
	switch status.Code(err) {
	case codes.OK:
		h.well(m)
	case codes.Internal, codes.Unknown:
		// A process that lives gets a call to prove itself, sickProbed after it was found sick.
		if before == "" || deadProcess(err.Error()) {
			h.fall("it fails what it answered before")
		}
	case codes.InvalidArgument, codes.NotFound:
		// Another version takes other requests, or the model is gone: what is kept says nothing any more.
		h.kept = nil
		h.keptAt = time.Time{}
		h.sick = ""
		h.doubtful = false
	}
	return before != h.sick
}

// probeModels asks the kept requests of the models that need it again.
func (p *pool) probeModels(ctx context.Context, r *replica) {
	if r.down.Load() != nil {
		return
	}
	r.models.Range(func(name, known any) bool {
		h := known.(*health)
		if m := h.due(); m != nil {
			p.done.Go(func() { p.probeModel(ctx, r, name.(string), h, m) })
		}
		return true
	})
}

func (p *pool) probeModel(ctx context.Context, r *replica, name string, h *health, m *pb.ModelInferRequest) {
	ctx, cancel := context.WithTimeout(ctx, healthProbeTimeout)
	defer cancel()
	changed := h.ended(m, r.ask(ctx, m))
	if !changed {
		return
	}
	if reason := r.sickness(name); reason != "" {
		p.config.Logger.Warn().Str("replica", r.address).Str("model", name).Str("reason", reason).Msg("model is sick and left out")
	} else {
		p.config.Logger.Info().Str("replica", r.address).Str("model", name).Msg("model is well again")
	}
}

// ask sends one request, as a stream where its model answers only to those, and returns how the first answer went. Like
// every call it is not cancelled while a response is on its way (see leave.go): the rest of a stream is read for nobody.
func (r *replica) ask(ctx context.Context, m *pb.ModelInferRequest) error {
	if _, streamed := m.Parameters[emptyFinal]; !streamed {
		call, release := outlive(ctx)
		defer release()
		_, err := r.service.ModelInfer(call, m)
		return err
	}
	s := newStream(ctx, r)
	go s.run(m)
	defer s.leave()
	select {
	case first := <-s.messages:
		if first.err == nil && first.response.ErrorMessage != "" {
			return status.Error(codes.Internal, first.response.ErrorMessage)
		}
		return first.err
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
