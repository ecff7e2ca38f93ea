package triton

import (
	"errors"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"retort/orchestrator/fault"
	pb "retort/orchestrator/triton/inferencepb"
)

// health is the health of one model on one replica. A server can be live and report a model as ready while every
// inference of that model fails, for example because the process of a Python model was killed. So the client watches
// the results of inferences.
//
// If an inference fails and the client is not at fault, or if none has succeeded for a while, the model is probed with
// a request made from its configuration (see probeRequest). Any answer of the model, even an error, proves that its
// process is alive. An error makes the model sick only if it has answered the probe before. A sick model gets no calls
// until it answers a probe.
type health struct {
	mu         sync.Mutex
	firstCall  time.Time
	lastAnswer time.Time // of an inference, or of a probe that proved the process alive; at first firstCall
	suspect    bool      // an inference has failed since lastAnswer
	sick       string    // reason, "" while the model is healthy
	sickSince  time.Time // when it was last found sick

	probe    *pb.ModelInferRequest // nil before the first probe
	probed   bool                  // a probe has had a verdict other than probeSilent and probeLate
	proven   bool                  // the model has answered the probe
	noProbes bool                  // the model cannot or must not be probed
	probing  bool

	backoff   time.Duration // before the next probe; 0 unless the last one was late
	nextProbe time.Time     // not before the end of the backoff
}

const (
	// idleTime is how long after its last answer, and at first after its first call, a model is probed. A model that
	// nobody uses should not die unnoticed.
	idleTime = 15 * time.Second
	// sickTimeUnprobed is how long a model stays sick if it is not probed. Then the next call shows whether it is.
	sickTimeUnprobed = 5 * time.Second
	// sickTimeProbed is the same for a model that fails its probes while its process is alive: it may have changed, and
	// answer other requests.
	sickTimeProbed = 30 * time.Second
	// modelProbeTimeout is how long a model probe may take, including the time in the model's queue.
	modelProbeTimeout = 10 * time.Second
	// maxProbeBackoff is the upper bound on the backoff after late probes. The model may be slow or busy, and goes on
	// with a request for which nobody waits.
	maxProbeBackoff = 10 * time.Minute
)

// isDeadProcess reports whether an error means that the process of a Python model has ended.
func isDeadProcess(message string) bool {
	return strings.Contains(message, "Stub process") && strings.Contains(message, "is not healthy")
}

func (r *Replica) health(model string) *health {
	h, ok := r.models.Load(model)
	if !ok {
		now := time.Now()
		h, _ = r.models.LoadOrStore(model, &health{firstCall: now, lastAnswer: now})
	}
	return h.(*health)
}

// recordResult updates the health of a model after an inference. once means that the model is never probed, since its
// inferences must not be executed twice. It reports whether the model should be probed now.
func (r *Replica) recordResult(model string, once bool, err error) (probe bool) {
	h := r.health(model)
	h.mu.Lock()
	defer h.mu.Unlock()
	if once {
		h.noProbes = true
	}
	switch {
	case err == nil:
		h.markHealthy()
	case isDeadProcess(err.Error()):
		h.markSick("its process has ended")
		return true
	case isInternal(err):
		h.suspect = true
		if h.sick != "" {
			h.markSick(h.sick)
		}
		return !h.noProbes
	}
	return false
}

// isInternal reports whether err, a fault or an error of gRPC, is an internal error of the server.
func isInternal(err error) bool {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Kind == fault.Internal
	}
	return status.Code(err) == codes.Internal
}

// markHealthy requires the lock.
func (h *health) markHealthy() {
	h.lastAnswer = time.Now()
	h.suspect = false
	h.sick = ""
}

// markSick requires the lock.
func (h *health) markSick(reason string) {
	h.sickSince = time.Now()
	h.sick = reason
}

// sickness returns why the model gets no inferences here, or "" if it gets them.
func (r *Replica) sickness(model string) string {
	value, ok := r.models.Load(model)
	if !ok {
		return ""
	}
	h := value.(*health)
	h.mu.Lock()
	defer h.mu.Unlock()
	sickTime := sickTimeProbed
	if h.noProbes {
		sickTime = sickTimeUnprobed
	}
	if time.Since(h.sickSince) > sickTime {
		return ""
	}
	return h.sick
}

// Forget drops the health of a model on all replicas. Call it when the model has changed, since the changed model may
// not answer what the old one answered.
func (c *Client) Forget(model string) {
	for _, r := range *c.pool.replicas.Load() {
		r.models.Delete(model)
	}
}

// Sickness returns why a model is sick on every live replica that serves it, or "" if it is healthy on one or none
// serves it.
func (c *Client) Sickness(model string) (reason string) {
	for _, r := range *c.pool.replicas.Load() {
		if r.rank(model, false) != rankServes {
			continue
		}
		if reason = r.sickness(model); reason == "" {
			return ""
		}
	}
	return reason
}
