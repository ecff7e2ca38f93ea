package triton

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/fault"
	pb "retort/orchestrator/triton/inferencepb"
)

// claimProbe reports whether the model needs a probe. If so, there is no other until endProbe is called.
func (h *health) claimProbe() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.probing || h.noProbes || time.Now().Before(h.nextProbe) {
		return false
	}
	first := !h.tried && time.Since(h.firstCall) >= idleProbe
	if h.sick == "" && !h.doubtful && !first && time.Since(h.lastAnswer) < idleProbe {
		return false
	}
	h.probing = true
	return true
}

// endProbe notes the result of a probe and reports whether the model's state changed.
func (h *health) endProbe(err error) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = false
	before := h.sick
	verdict := verdictOf(err)
	if verdict == probeLate {
		h.pause = min(max(2*h.pause, idleProbe), maxProbePause)
	} else {
		h.pause = 0
	}
	h.nextProbe = time.Now().Add(h.pause)
	switch verdict {
	case probeAnswered:
		h.proven = true
		h.well()
	case probeDead:
		if !h.tried && before == "" && !h.doubtful { // the model was well: the probe may have killed it
			h.noProbes = true
		}
		h.fall("its process has ended")
	case probeFailed:
		switch {
		case !h.proven: // the process lives, and may never answer such a request
			h.well()
		case before == "": // else since stays, and a call is tried sickProbed after it
			h.fall("it fails what it answered before")
		}
	case probeRefused:
		if h.proven { // another version takes other requests
			h.proven = false
			h.probe = nil
			h.sick = ""
		} else {
			h.noProbes = true
		}
		h.doubtful = false
	case probeLate, probeSilent:
		return false
	}
	h.tried = true
	return before != h.sick
}

// verdict is what the result of a probe says about the model.
type verdict int

const (
	probeAnswered verdict = iota
	probeDead             // the model's process has ended
	probeFailed           // the model has failed, so its process lives
	probeRefused          // the server takes no such request
	probeLate             // no answer in time
	probeSilent           // no answer: the server is away
)

func verdictOf(err error) verdict {
	message := status.Convert(err).Message()
	switch code := status.Code(err); {
	case err == nil:
		return probeAnswered
	case deadProcess(message):
		return probeDead
	case code == codes.DeadlineExceeded, code == codes.Canceled: // by outlive
		return probeLate
	case code == codes.InvalidArgument, code == codes.NotFound, code == codes.Unimplemented:
		return probeRefused
	case code == codes.Internal, code == codes.Unknown:
		switch kindOfText(message, fault.Internal) { // errors inside a stream have no other code
		case fault.Internal:
			return probeFailed
		case fault.Rejected, fault.NotFound:
			return probeRefused
		}
	}
	return probeSilent
}

// probeModels probes the models that need it.
func (p *pool) probeModels(ctx context.Context, r *Replica) {
	if r.down.Load() != nil {
		return
	}
	r.models.Range(func(name, known any) bool {
		if h := known.(*health); h.claimProbe() {
			p.done.Go(func() { p.probeModel(ctx, r, name.(string), h) })
		}
		return true
	})
}

func (p *pool) probeModel(ctx context.Context, r *Replica, name string, h *health) {
	ctx, cancel := context.WithTimeout(ctx, healthProbeTimeout)
	defer cancel()
	if !h.endProbe(r.probeOnce(ctx, name, h)) {
		return
	}
	if reason := r.sickness(name); reason != "" {
		p.config.Logger.Warn().Str("replica", r.address).Str("model", name).Str("reason", reason).Msg("model is sick and left out")
	} else {
		p.config.Logger.Info().Str("replica", r.address).Str("model", name).Msg("model is well again")
	}
}

// probeOnce sends the probe, which the first time is made from the model's configuration.
func (r *Replica) probeOnce(ctx context.Context, name string, h *health) error {
	h.mu.Lock()
	m := h.probe
	h.mu.Unlock()
	if m == nil {
		answer, err := r.service.ModelConfig(ctx, &pb.ModelConfigRequest{Name: name})
		if err != nil {
			return err
		}
		if m = probeRequest(answer.GetConfig()); m == nil {
			return status.Error(codes.Unimplemented, "no probe can be made from the model's configuration")
		}
		h.mu.Lock()
		h.probe = m
		h.mu.Unlock()
	}
	return r.ask(ctx, m)
}

// ask sends one request, as a stream where its model answers only to those, and returns how the first answer went. Like
// every call it is not cancelled while a response is on its way (see leave.go): the rest of a stream is read for nobody.
func (r *Replica) ask(ctx context.Context, m *pb.ModelInferRequest) error {
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
		if first.err == nil && first.response.GetErrorMessage() != "" {
			return status.Error(codes.Internal, first.response.GetErrorMessage())
		}
		return first.err
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}
