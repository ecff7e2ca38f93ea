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

// A server can be live, and say that a model is ready, while every inference of that model fails: the process of a
// model of the Python backend may have been killed. So the answers themselves are watched, per model and replica. When
// an inference fails by no fault of the client's, or none came for a while, the model is probed with a request made
// from its configuration (see probeRequest). Any answer of the model, even an error, shows that its process lives. An error
// makes the model sick only if it is proven, which means that it has answered the probe before. A sick model gets no calls
// until a probe is answered.
type health struct {
	mu         sync.Mutex
	firstCall  time.Time
	lastAnswer time.Time // or the last probe that found the process alive; firstCall before both
	doubtful   bool      // an inference failed since then
	sick       string    // why no calls go there, "" while it is well
	since      time.Time // when it was last found sick

	probe    *pb.ModelInferRequest // nil before the first probe
	tried    bool                  // a probe has had a verdict other than probeSilent
	proven   bool                  // the model has answered the probe
	noProbes bool                  // the model cannot or must not be probed
	probing  bool

	pause     time.Duration // before the next probe, after one that came too late; 0 after any other
	nextProbe time.Time     // the end of the pause
}

const (
	// idleProbe is how long a model may go without an answer before it is probed, so that an unused model does not die
	// unnoticed, and how long after its first call it is probed for the first time.
	idleProbe = 15 * time.Second
	// sickUnprobed is how long a model that is not probed stays sick: then the next call finds out.
	sickUnprobed = 5 * time.Second
	// sickProbed is the same for a model whose process lives and which fails the probe: it may have changed, and answer
	// others.
	sickProbed = 30 * time.Second
	// healthProbeTimeout is how long a probe may wait behind other work.
	healthProbeTimeout = 10 * time.Second
	// maxProbePause is the longest pause after a probe that came too late. The model may be slow or busy, and goes on with
	// a request that is no longer waited for.
	maxProbePause = 10 * time.Minute
)

// deadProcess reports whether an error says that the process of a model of the Python backend is gone.
func deadProcess(message string) bool {
	return strings.Contains(message, "Stub process") && strings.Contains(message, "is not healthy")
}

func isFault(err error) bool {
	var f *fault.Error
	return errors.As(err, &f)
}

func (r *Replica) health(model string) *health {
	h, known := r.models.Load(model)
	if !known {
		now := time.Now()
		h, _ = r.models.LoadOrStore(model, &health{firstCall: now, lastAnswer: now})
	}
	return h.(*health)
}

// learn draws conclusions from the end of an inference. once means that inferences of the model have effects that must not
// happen twice, so that it is never probed. It reports whether the model should be probed now.
func (r *Replica) learn(model string, once bool, err error) (probe bool) {
	h := r.health(model)
	h.mu.Lock()
	defer h.mu.Unlock()
	if once {
		h.noProbes = true
	}
	message := ""
	if err != nil {
		message = err.Error()
	}
	switch {
	case err == nil:
		h.well()
	case deadProcess(message):
		h.fall("its process has ended")
		return true
	case status.Code(err) == codes.Internal || isFault(err) && fault.KindOf(err) == fault.Internal:
		h.doubtful = true
		if h.sick != "" {
			h.fall(h.sick)
		}
		return !h.noProbes
	}
	return false
}

// well notes an answer. The caller holds the lock.
func (h *health) well() {
	h.lastAnswer = time.Now()
	h.doubtful = false
	h.sick = ""
}

// fall notes that the model is sick. The caller holds the lock.
func (h *health) fall(reason string) {
	h.since = time.Now()
	h.sick = reason
}

// sickness says why a model gets no inferences here, "" when it does.
func (r *Replica) sickness(model string) string {
	known, ok := r.models.Load(model)
	if !ok {
		return ""
	}
	h := known.(*health)
	h.mu.Lock()
	defer h.mu.Unlock()
	patience := sickProbed
	if h.noProbes {
		patience = sickUnprobed
	}
	if time.Since(h.since) > patience {
		return "" // the next call finds out
	}
	return h.sick
}

// Forget drops the health of a model on all replicas. It is called when the model has changed: it may not answer what it
// answered before.
func (c *Client) Forget(model string) {
	for _, r := range *c.pool.replicas.Load() {
		r.models.Delete(model)
	}
}

// Sickness returns why a model is sick on every live replica that serves it, or "" if one can answer or none serves it.
func (c *Client) Sickness(model string) (reason string) {
	for _, r := range *c.pool.replicas.Load() {
		if r.rank(model, false) != 0 {
			continue
		}
		if reason = r.sickness(model); reason == "" {
			return ""
		}
	}
	return reason
}
