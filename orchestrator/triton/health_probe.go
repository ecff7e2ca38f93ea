package triton

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/fault"
	pb "retort/orchestrator/triton/inferencepb"
)

// claimProbe returns true if the model needs a probe now. The caller must then probe it and call endProbe; until then
// claimProbe returns false.
func (h *health) claimProbe() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.probing || h.noProbes || time.Now().Before(h.nextProbe) {
		return false
	}
	firstIsDue := !h.probed && time.Since(h.firstCall) >= idleTime
	if h.sick == "" && !h.suspect && !firstIsDue && time.Since(h.lastAnswer) < idleTime {
		return false
	}
	h.probing = true
	return true
}

// endProbe records the result of a probe and reports whether the model has become sick or healthy.
func (h *health) endProbe(err error) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.probing = false
	before := h.sick
	verdict := verdictOf(err)
	if verdict == probeLate {
		h.backoff = min(max(2*h.backoff, idleTime), maxProbeBackoff)
	} else {
		h.backoff = 0
	}
	h.nextProbe = time.Now().Add(h.backoff)
	switch verdict {
	case probeAnswered:
		h.proven = true
		h.markHealthy()
	case probeDead:
		if !h.probed && before == "" && !h.suspect { // The model was healthy: the probe may have killed it.
			h.noProbes = true
		}
		h.markSick("its process has ended")
	case probeFailed:
		switch {
		case !h.proven: // The process is alive, and may never have been able to answer the probe.
			h.markHealthy()
		case before == "": // Otherwise sickSince stays, so that a call is tried sickTimeProbed after it.
			h.markSick("it fails what it answered before")
		}
	case probeRefused:
		if h.proven { // A new version has other inputs.
			h.proven = false
			h.probe = nil
			h.sick = ""
		} else {
			h.noProbes = true
		}
		h.suspect = false
	case probeLate, probeSilent:
		return false
	}
	h.probed = true
	return before != h.sick
}

// verdict is what the result of a probe means for the model.
type verdict int

const (
	probeAnswered verdict = iota
	probeDead             // the model's process has ended
	probeFailed           // the model returned an error, so its process is alive
	probeRefused          // the server does not accept such a request
	probeLate             // no answer in time
	probeSilent           // no answer, since the server is away
)

func verdictOf(err error) verdict {
	message := status.Convert(err).Message()
	switch code := status.Code(err); {
	case err == nil:
		return probeAnswered
	case isDeadProcess(message):
		return probeDead
	case code == codes.DeadlineExceeded, code == codes.Canceled: // withGracePeriod cancels
		return probeLate
	case code == codes.InvalidArgument, code == codes.NotFound, code == codes.Unimplemented:
		return probeRefused
	case code == codes.Internal, code == codes.Unknown:
		switch kindOfMessage(message, fault.Internal) { // errors inside a stream have no code of their own
		case fault.Internal:
			return probeFailed
		case fault.Rejected, fault.NotFound:
			return probeRefused
		}
	}
	return probeSilent
}

// probeModels probes the models of a live replica that need it.
func (p *pool) probeModels(ctx context.Context, r *Replica) {
	if r.down.Load() != nil {
		return
	}
	r.models.Range(func(name, value any) bool {
		if h := value.(*health); h.claimProbe() {
			p.goroutines.Go(func() { p.probeModel(ctx, r, name.(string), h) })
		}
		return true
	})
}

func (p *pool) probeModel(ctx context.Context, r *Replica, name string, h *health) {
	ctx, cancel := context.WithTimeout(ctx, modelProbeTimeout)
	defer cancel()
	if !h.endProbe(r.probeModel(ctx, name, h)) {
		return
	}
	log := p.config.Logger.With().Str("replica", r.address).Str("model", name).Logger()
	if reason := r.sickness(name); reason != "" {
		log.Warn().Str("reason", reason).Msg("model is sick and left out")
	} else {
		log.Info().Msg("model is well again")
	}
}

// probeModel sends a probe. It makes the probe from the model's configuration the first time.
func (r *Replica) probeModel(ctx context.Context, name string, h *health) error {
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
	return r.sendProbe(ctx, m)
}

// sendProbe sends one request, in a stream if the model is decoupled, and returns the error of the first response. Like
// any call, a probe is not cancelled while a response is due (see leave.go): later responses of a stream are discarded.
func (r *Replica) sendProbe(ctx context.Context, m *pb.ModelInferRequest) error {
	if _, isStream := m.Parameters[emptyFinal]; !isStream {
		callCtx, release := withGracePeriod(ctx)
		defer release()
		_, err := r.service.ModelInfer(callCtx, m)
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
