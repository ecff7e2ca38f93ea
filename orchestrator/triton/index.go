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

// ready is the state of a version that accepts requests.
const ready = "READY"

// Index is the index of one replica's model repository. It is immutable.
type Index struct {
	entries []indexEntry        // by name and version
	ready   map[string][]string // versions by model name
}

// indexEntry is one version of a model, or a model that was never loaded.
type indexEntry struct{ name, version, state, reason string }

// Ready returns the ready versions of each model by name. The caller must not modify the map.
func (i *Index) Ready() map[string][]string { return i.ready }

func newIndex(m *pb.RepositoryIndexResponse) *Index {
	index := &Index{entries: make([]indexEntry, len(m.Models)), ready: make(map[string][]string)}
	for i, model := range m.Models {
		index.entries[i] = indexEntry{model.Name, model.Version, model.State, model.Reason}
		if model.State == ready {
			index.ready[model.Name] = append(index.ready[model.Name], model.Version)
		}
	}
	slices.SortFunc(index.entries, func(a, b indexEntry) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.version, b.version))
	})
	return index
}

// ListIndexes refreshes the indexes of replicas in parallel and reports whether any has changed. A replica that fails
// keeps its old index: probes detect whether it is live. ListIndexes returns an error only if all replicas failed.
func (c *Client) ListIndexes(ctx context.Context, replicas []*Replica) (changed bool, err error) {
	request := telemetry.FromContext(ctx)
	start := time.Now()
	defer func() { request.AddTriton(time.Since(start)) }()
	ctx, end := c.startSpan(ctx, "repository_index", "")
	if len(replicas) == 0 {
		return false, end(errNoReplica())
	}
	errs := make([]error, len(replicas))
	var anyChanged atomic.Bool
	var calls sync.WaitGroup
	for i, r := range replicas {
		calls.Go(func() {
			errs[i] = c.callReplica(r, func() error {
				answer, err := r.service.RepositoryIndex(ctx, &pb.RepositoryIndexRequest{})
				if err == nil && r.updateIndex(newIndex(answer)) {
					anyChanged.Store(true)
				}
				return err
			})
		})
	}
	calls.Wait()
	err = end(translate(ctx, cmp.Or(errs...)))
	if slices.Contains(errs, nil) {
		err = nil
	}
	return anyChanged.Load(), err
}

// updateIndex stores the index and reports whether it has changed.
func (r *Replica) updateIndex(index *Index) (changed bool) {
	if before := r.index.Load(); before != nil && slices.Equal(before.entries, index.entries) {
		return false
	}
	r.index.Store(index)
	return true
}
