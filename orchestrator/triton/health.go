package triton

import (
	"errors"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"retort/orchestrator/fault"
	pb "retort/orchestrator/triton/inferencepb"
)

// A server can be live, and say that a model is ready, while every inference of that model fails: the process of a
// model of the Python backend may have been killed. So the answers themselves are watched, per model and replica. A
// small request that was answered is kept; when a later one fails by no fault of the client's, or none came for a
// while, the kept one is asked again. If that fails, the model is sick there: no calls go to it until the kept request
// is answered again.
type health struct {
	mu       sync.Mutex
	kept     *pb.ModelInferRequest // asked again by a probe; nil before the first small answer
	keptAt   time.Time
	answered time.Time // the last answer
	doubtful bool      // an inference failed since then
	sick     string    // why no calls go there, "" while it is well
	since    time.Time // when it was last found sick
	probing  bool
}

const (
	// maxKept is the largest request that is kept for probes, in bytes.
	maxKept = 64 << 10
	// keepEvery is how often a newer request takes the place of the kept one.
	keepEvery = 10 * time.Second
	// idleProbe is how long a model may have answered nothing before it is probed, so that a model which nobody uses
	// does not die unseen.
	idleProbe = 15 * time.Second
	// sickUnprobed is how long a model without a kept request stays sick: then the next call finds out.
	sickUnprobed = 5 * time.Second
	// sickProbed is the same for a model whose process lives and which fails the kept request: it may have changed, and
	// answer others.
	sickProbed = 30 * time.Second
	// healthProbeTimeout is how long a probe may wait behind other work.
	healthProbeTimeout = 10 * time.Second
)

// deadProcess reports whether an error says that the process of a model of the Python backend is gone.
func deadProcess(message string) bool {
	return strings.Contains(message, "Stub process") && strings.Contains(message, "is not healthy")
}

func isFault(err error) bool {
	var f *fault.Error
	return errors.As(err, &f)
}

func (r *replica) health(model string) *health {
	h, known := r.models.Load(model)
	if !known {
		h, _ = r.models.LoadOrStore(model, &health{})
	}
	return h.(*health)
}

// learn draws conclusions from the end of an inference. It reports whether the model should be probed now.
func (r *replica) learn(m *pb.ModelInferRequest, err error) (probe bool) {
	h := r.health(m.ModelName)
	h.mu.Lock()
	defer h.mu.Unlock()
	message := ""
	if err != nil {
		message = err.Error()
	}
	switch {
	case err == nil:
		h.well(m)
	case deadProcess(message):
		h.fall("its process has ended")
		return true
	case status.Code(err) == codes.Internal || isFault(err) && fault.KindOf(err) == fault.Internal:
		h.doubtful = true
		if h.sick != "" {
			h.fall(h.sick)
		}
		return h.kept != nil
	}
	return false
}

// well notes an answer to m. The caller holds the lock.
func (h *health) well(m *pb.ModelInferRequest) {
	now := time.Now()
	recovered := h.sick != ""
	h.answered = now
	h.doubtful = false
	h.sick = ""
	if !recovered && now.Sub(h.keptAt) < keepEvery {
		return
	}
	size := 0
	for _, raw := range m.RawInputContents {
		size += len(raw)
	}
	if size <= maxKept {
		h.kept = proto.Clone(m).(*pb.ModelInferRequest) // its tensors' memory is used again
		h.keptAt = now
	}
}

// fall notes that the model is sick. The caller holds the lock.
func (h *health) fall(reason string) {
	h.since = time.Now()
	h.sick = reason
}

// sickness says why a model gets no inferences here, "" when it does.
func (r *replica) sickness(model string) string {
	known, ok := r.models.Load(model)
	if !ok {
		return ""
	}
	h := known.(*health)
	h.mu.Lock()
	defer h.mu.Unlock()
	patience := sickProbed
	if h.kept == nil {
		patience = sickUnprobed
	}
	if time.Since(h.since) > patience {
		return "" // the next call finds out
	}
	return h.sick
}

// forget drops what calls have told of a model on all replicas: it has changed, and may not answer what it did before.
func (c *Client) forget(model string) {
	for _, r := range *c.pool.replicas.Load() {
		r.models.Delete(model)
	}
}

// sick says why no replica that is live and serves a model can answer it, "" where one can or none serves it.
func (c *Client) sick(model string) (reason string) {
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
