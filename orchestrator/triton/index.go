package triton

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"retort/orchestrator/telemetry"
	pb "retort/orchestrator/triton/inferencepb"
)

// ready is the state of a version that takes requests.
const ready = "READY"

// Index is the content of one replica's model repository, as listed last. It never changes.
type Index struct {
	lines []indexLine // by name and version
	ready map[string][]string
}

// indexLine is one version of a model, or a model that was never loaded.
type indexLine struct{ name, version, state, reason string }

// Ready returns the versions of each model that take requests, by the model's name. The caller must not change it.
func (i *Index) Ready() map[string][]string { return i.ready }

func newIndex(m *pb.RepositoryIndexResponse) *Index {
	index := &Index{lines: make([]indexLine, len(m.Models)), ready: make(map[string][]string)}
	for i, model := range m.Models {
		index.lines[i] = indexLine{model.Name, model.Version, model.State, model.Reason}
		if model.State == ready {
			index.ready[model.Name] = append(index.ready[model.Name], model.Version)
		}
	}
	slices.SortFunc(index.lines, func(a, b indexLine) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.version, b.version))
	})
	return index
}

// ListIndexes refreshes the index of each of the replicas, in parallel. It reports whether any index changed. A replica
// that fails keeps its old index: probes find out whether it is alive. The error is returned only if all of them failed.
func (c *Client) ListIndexes(ctx context.Context, replicas []*Replica) (changed bool, err error) {
	request := telemetry.FromContext(ctx)
	start := time.Now()
	defer func() { request.AddTriton(time.Since(start)) }()
	ctx, end := c.begin(ctx, "repository_index", "")
	if len(replicas) == 0 {
		return false, end(errNoReplica())
	}
	errs := make([]error, len(replicas))
	var changes atomic.Int64
	var calls sync.WaitGroup
	for i, r := range replicas {
		calls.Go(func() {
			errs[i] = c.on(r, func() error {
				answer, err := r.service.RepositoryIndex(ctx, &pb.RepositoryIndexRequest{})
				if err == nil && r.learnIndex(newIndex(answer)) {
					changes.Add(1)
				}
				return err
			})
		})
	}
	calls.Wait()
	failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(failed) > 0 {
		err = end(translate(ctx, failed[0]))
	} else {
		err = end(nil)
	}
	if len(failed) < len(replicas) {
		err = nil
	}
	return changes.Load() > 0, err
}

// learnIndex stores the index and reports whether it differs from the one before.
func (r *Replica) learnIndex(index *Index) (changed bool) {
	if before := r.index.Load(); before != nil && slices.Equal(before.lines, index.lines) {
		return false
	}
	r.index.Store(index)
	return true
}
